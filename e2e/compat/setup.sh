#!/bin/sh
# Installs what the compat tests put behind a tunnel or look through it with, where it is missing. Next.js alone takes
# 300 MB, which is why it is no dependency of this package.
set -eu
cd "$(dirname "$0")"
set -- "The compat tests"
[ -x /usr/bin/chromium ] || set -- "$@" chromium
command -v curl >/dev/null || set -- "$@" curl
[ -x "$(git --exec-path 2>/dev/null)/git-http-backend" ] || set -- "$@" git
sh ../support/install.sh "$@"
cd apps
installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  rm -rf node_modules
  # Not "npm ci": where a registry lacks packages for other systems it refuses the lock file, which holds all the same.
  npm install --no-save --ignore-scripts --no-audit --no-fund >&2
  cp package-lock.json "$installed"
fi
