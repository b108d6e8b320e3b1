#!/bin/sh
# usage: setup.sh [FOLDER...]: installs the servers and clients of the compat tests that folders here list (default: apps
# and runners), if they are missing. They are not dependencies of this package, because Next.js alone takes 300 MB.
set -eu
cd "$(dirname "$0")"
folders=${*:-apps runners}
set -- "The compat tests"
[ -x /usr/bin/chromium ] || set -- "$@" chromium
command -v certutil >/dev/null || set -- "$@" libnss3-tools
command -v openssl >/dev/null || set -- "$@" openssl
[ -x /usr/bin/python3 ] || set -- "$@" python3
command -v aria2c >/dev/null || set -- "$@" aria2
for program in curl docker-registry skopeo; do
  command -v $program >/dev/null || set -- "$@" $program
done
[ -x "$(git --exec-path 2>/dev/null)/git-http-backend" ] || set -- "$@" git
[ -x /usr/sbin/nginx ] || set -- "$@" nginx
[ -x /usr/sbin/apache2 ] || set -- "$@" apache2-bin
[ -e /usr/lib/apache2/modules/mod_dav_svn.so ] || set -- "$@" libapache2-mod-svn
command -v svn >/dev/null || set -- "$@" subversion
command -v cadaver >/dev/null || set -- "$@" cadaver
sh ../support/install.sh "$@"
installed=node_modules/.installed-lock.json
for folder in $folders; do
  (
    cd "$folder"
    cmp -s package-lock.json "$installed" && exit
    rm -rf node_modules
    # Not "npm ci": it refuses the lock file if the registry lacks packages for other systems.
    npm install --no-save --ignore-scripts --no-audit --no-fund >&2
    cp package-lock.json "$installed"
  )
done
