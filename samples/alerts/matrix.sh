#!/bin/sh
# Sends each alert to the room MATRIX_ROOM of the server MATRIX_URL, with the access token MATRIX_TOKEN. The alert's id is that of the
# transaction, so an alert that is sent twice is shown once: https://spec.matrix.org/v1.16/client-server-api/#sending-events-to-a-room
. "$(dirname "$0")/send.sh"
bodies '("\(.kind) \(.id)" | @uri), {msgtype: "m.text", body: $sentence, "m.mentions": {}}' | while IFS= read -r transaction; do
    IFS= read -r body
    transaction=${transaction#\"}
    url=$MATRIX_URL/_matrix/client/v3/rooms/$(printf '%s' "$MATRIX_ROOM" | jq -sRr @uri)/send/m.room.message/${transaction%\"}
    send PUT "$url" "$body" "Authorization: Bearer $MATRIX_TOKEN"
done
