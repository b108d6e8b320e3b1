#!/bin/sh
# Deploy hook of certbot: copies a certificate for the relay when it is issued and after each renewal.
#
#   certbot certonly … --deploy-hook /etc/culvert/certbot-hook.sh
#
# certbot stores the command with the certificate, and sets RENEWED_LINEAGE to its folder. A running relay uses the copy within
# 5 s. Arguments: the target folder, and the group of the relay's user.
set -eu
folder=${1:-/etc/culvert}
group=${2:-culvert}
: "${RENEWED_LINEAGE:?is missing: this is a deploy hook, which certbot calls}"

for name in privkey fullchain; do
	install -m 0640 -g "$group" "$RENEWED_LINEAGE/$name.pem" "$folder/.$name.pem.new"
done
# Renamed together: the relay does not use a half-renewed pair.
for name in privkey fullchain; do
	mv -f "$folder/.$name.pem.new" "$folder/$name.pem"
done
