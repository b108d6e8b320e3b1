#!/usr/bin/env bash
# Lets "ddev share --provider=culvert" use a Culvert relay. Copy this file to .ddev/share-providers/culvert.sh and make
# it executable. Further options of "culvert http": ddev share --provider=culvert --provider-args='--name shop'
# https://docs.ddev.com/en/stable/users/extend/share-providers/ says what ddev gives and expects.
set -euo pipefail

if ! command -v culvert >/dev/null; then
  echo 'culvert is not installed. The page /install of your relay shows how.' >&2
  exit 1
fi

# The arguments are words.
# shellcheck disable=SC2086
exec 3< <(exec culvert http "${DDEV_LOCAL_URL:?}" ${DDEV_SHARE_ARGS:-} --json)
tunnel=$!
trap 'kill "$tunnel" 2>/dev/null || true' EXIT
trap 'exit 0' INT TERM

shown=
while IFS= read -r event <&3; do
  echo "$event" >&2
  if [[ -z $shown && $event == '{"event":"online"'* && $event =~ '"public_url":"'([^\"]+) ]]; then
    shown=${BASH_REMATCH[1]}
    echo "$shown"
  fi
done
wait "$tunnel"
