#!/bin/sh
# Installs the programs of others that the fault tests and the fuzzer run, where they are missing.
set -eu
missing=''
command -v curl >/dev/null || missing="$missing curl"
[ -x /usr/sbin/nginx ] || missing="$missing nginx"
[ -x /usr/sbin/apache2 ] || missing="$missing apache2-bin"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The fault tests need:$missing. Install them (Debian package names) and run the tests again." >&2
  exit 1
fi
# A package must not start a server of its own beside those of the tests.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
# shellcheck disable=SC2086 # a list of names
apt-get install -y -qq --no-install-recommends $missing >&2
