#!/bin/sh
# Installs the programs of others that the fault tests and the fuzzer run, where they are missing.
set -eu
set -- "The fault tests"
command -v curl >/dev/null || set -- "$@" curl
[ -x /usr/sbin/nginx ] || set -- "$@" nginx
[ -x /usr/sbin/apache2 ] || set -- "$@" apache2-bin
exec sh "$(dirname "$0")/install.sh" "$@"
