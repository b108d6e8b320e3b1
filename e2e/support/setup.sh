#!/bin/sh
# usage: setup.sh [PACKAGE...]: installs the programs of others that the tests and the fuzzer run, where they are missing;
# without arguments, all of them. Names are those of Debian's packages.
set -eu
folder=$(dirname "$0")
[ $# -gt 0 ] || set -- openssl curl nginx apache2-bin chromium postgresql redis-server

has() {
  case $1 in
    nginx) [ -x /usr/sbin/nginx ] ;;
    apache2-bin) [ -x /usr/sbin/apache2 ] ;;
    chromium) command -v chromium >/dev/null || [ -n "${CULVERT_CHROMIUM:-}" ] ;;
    postgresql) [ -d /usr/lib/postgresql ] ;;
    redis-server) [ -x /usr/bin/redis-server ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=
for package in "$@"; do
  has "$package" || missing="$missing $package"
done
# Names of packages have no blanks.
# shellcheck disable=SC2086
exec sh "$folder/install.sh" "The tests" $missing
set -- "The tests"
command -v openssl >/dev/null || set -- "$@" openssl
command -v curl >/dev/null || set -- "$@" curl
[ -x /usr/sbin/nginx ] || set -- "$@" nginx
[ -e /usr/lib/nginx/modules/ngx_stream_module.so ] || set -- "$@" libnginx-mod-stream
[ -x /usr/sbin/apache2 ] || set -- "$@" apache2-bin
command -v chromium >/dev/null || [ -n "${CULVERT_CHROMIUM:-}" ] || set -- "$@" chromium
[ -d /usr/lib/postgresql ] || set -- "$@" postgresql
[ -x /usr/bin/redis-server ] || set -- "$@" redis-server
exec sh "$(dirname "$0")/install.sh" "$@"
