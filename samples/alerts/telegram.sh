#!/bin/sh
# Sends each alert to the chat TELEGRAM_CHAT, as the bot with the token TELEGRAM_TOKEN, as plain text without previews of links:
# https://core.telegram.org/bots/api#sendmessage
. "$(dirname "$0")/send.sh"
bodies '{chat_id: $chat, text: $sentence, link_preview_options: {is_disabled: true}}' --arg chat "$TELEGRAM_CHAT" |
    while IFS= read -r body; do send POST "${TELEGRAM_URL:-https://api.telegram.org}/bot$TELEGRAM_TOKEN/sendMessage" "$body"; done
