#!/bin/sh
# Installs the programs of others that the tests and the fuzzer run, where they are missing.
set -eu
set -- "The tests"
command -v openssl >/dev/null || set -- "$@" openssl
command -v curl >/dev/null || set -- "$@" curl
[ -x /usr/sbin/nginx ] || set -- "$@" nginx
[ -x /usr/sbin/apache2 ] || set -- "$@" apache2-bin
command -v chromium >/dev/null || [ -n "${CULVERT_CHROMIUM:-}" ] || set -- "$@" chromium
[ -d /usr/lib/postgresql ] || set -- "$@" postgresql
[ -x /usr/bin/redis-server ] || set -- "$@" redis-server
exec sh "$(dirname "$0")/install.sh" "$@"
