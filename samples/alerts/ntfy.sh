#!/bin/sh
# Publishes each alert to the topic NTFY_TOPIC of the ntfy server NTFY_URL (https://ntfy.sh), with the access token NTFY_TOKEN if it has
# one. A critical alert has the highest priority: https://docs.ntfy.sh/publish/#publish-as-json
. "$(dirname "$0")/send.sh"
bodies '{topic: $topic, title: "probewatch: \(.kind)", message: $sentence, priority: ({critical: 5, high: 4}[.severity] // 3)}' \
    --arg topic "$NTFY_TOPIC" | while IFS= read -r body; do
    send POST "${NTFY_URL:-https://ntfy.sh}" "$body" "${NTFY_TOKEN:+Authorization: Bearer $NTFY_TOKEN}"
done
