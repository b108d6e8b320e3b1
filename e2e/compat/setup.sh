#!/bin/sh
# usage: setup.sh [more]: installs the servers and clients of the suite compat, or of compat:more, if they are missing. They
# are not dependencies of this package, because those of compat:more take 1 GB.
set -eu
cd "$(dirname "$0")"
folder=${1:-apps}
set -- chromium curl libnss3-tools mosquitto mosquitto-clients nginx openssh-client openssh-server openssl postgresql postgresql-client python3 redis-server redis-tools
[ "$folder" = apps ] ||
  set -- "$@" apache2-bin aria2 cadaver docker-registry git libapache2-mod-svn skopeo subversion
sh ../support/setup.sh "$@"
cd "$folder"
installed=node_modules/.installed-lock.json
cmp -s package-lock.json "$installed" && exit
rm -rf node_modules
# Not "npm ci": it refuses the lock file if the registry lacks packages for other systems.
npm install --no-save --ignore-scripts --no-audit --no-fund >&2
cp package-lock.json "$installed"
