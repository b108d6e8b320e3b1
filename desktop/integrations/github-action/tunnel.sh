#!/usr/bin/env bash
# Opens the tunnel of the action and leaves it to the job, which ends it. See action.yml.
set -euo pipefail

case "${PORT:+port}${FOLDER:+folder}" in
  port) command=(http "$PORT") ;;
  folder) command=(share "$FOLDER") ;;
  *)
    echo '::error::Set either port or folder.'
    exit 1
    ;;
esac
if [[ -n $NAME ]]; then command+=(--name "$NAME"); fi

if ! command -v culvert >/dev/null; then
  curl -fsSL "$CULVERT_RELAY/install.sh" | sh
  PATH=$HOME/.local/bin:$PATH
  echo "$HOME/.local/bin" >>"$GITHUB_PATH"
fi

events=$(mktemp "$RUNNER_TEMP/culvert.XXXXXX")
# The options are words.
# shellcheck disable=SC2086
nohup culvert "${command[@]}" $OPTIONS --json >"$events" 2>"$events.errors" </dev/null &
tunnel=$!
until grep -q '^{"event":"online"' "$events"; do
  if ! kill -0 "$tunnel" 2>/dev/null; then
    reason=$(cat "$events.errors" "$events")
    echo "::error::${reason//$'\n'/%0A}"
    exit 1
  fi
  sleep 0.2
done
url=$(sed -n 's/^{"event":"online".*"public_url":"\([^"]*\)".*/\1/p' "$events" | head -n 1)
echo "url=$url" >>"$GITHUB_OUTPUT"
echo "Online at $url"

if [[ $COMMENT == true && -n $PULL_REQUEST ]]; then
  gh pr comment "$PULL_REQUEST" --edit-last --create-if-none --body "Preview: $url"
fi
