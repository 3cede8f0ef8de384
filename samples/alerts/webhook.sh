#!/bin/sh
# Posts each alert as it is, to WEBHOOK_URL. WEBHOOK_HEADER is an additional header, such as "Authorization: Bearer ...".
. "$(dirname "$0")/send.sh"
while IFS= read -r alert; do send POST "$WEBHOOK_URL" "$alert" "${WEBHOOK_HEADER:-}"; done
