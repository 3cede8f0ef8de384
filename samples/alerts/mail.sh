#!/bin/sh
# Mails each alert to MAIL_TO, by the host's sendmail: a sentence, and the keys of the alert. It needs jq.
while IFS= read -r alert; do
    {
        printf 'To: %s\nSubject: probewatch: an alert\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n' "$MAIL_TO"
        printf '%s' "$alert" | jq -r '"\(.severity): \(.text)", "", (to_entries[] | "\(.key): \(.value)")'
    } | sendmail -t -oi
done
