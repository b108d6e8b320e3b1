#!/bin/sh
# Deploy hook of certbot: copies a certificate to where a relay may read it, when it is there and after each renewal.
#
#   certbot certonly … --deploy-hook /etc/culvert/certbot-hook.sh
#
# certbot keeps the command with the certificate, and says in RENEWED_LINEAGE where that is. A running relay uses the copy within
# 5 s. Arguments: the folder, and the group of the relay's user.
set -eu
folder=${1:-/etc/culvert}
group=${2:-culvert}
: "${RENEWED_LINEAGE:?is missing: this is a deploy hook, which certbot calls}"

for name in privkey fullchain; do
	install -m 0640 -g "$group" "$RENEWED_LINEAGE/$name.pem" "$folder/.$name.pem.new"
done
# One right behind the other: a pair that is half renewed is not used.
for name in privkey fullchain; do
	mv -f "$folder/.$name.pem.new" "$folder/$name.pem"
done
