#!/bin/sh
# Posts each alert to a channel of Slack, by the incoming webhook SLACK_WEBHOOK. A path that a client sent is no link and mentions no
# user: https://docs.slack.dev/messaging/formatting-message-text#escaping
. "$(dirname "$0")/send.sh"
bodies '{text: ($sentence | gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;")), unfurl_links: false, mrkdwn: false}' |
    while IFS= read -r body; do send POST "$SLACK_WEBHOOK" "$body"; done
