/** The scripts that install `culvert` from a relay. Nothing in them comes from the request. */

/** Where the script for Linux and macOS puts the program, as people write it. */
export const UNIX_FOLDER = '~/.local/bin';

/** @param relay the relay's own origin */
export function shellScript(relay: string): string {
  return String.raw`#!/bin/sh
# Installs culvert, the client of the relay at ${relay}, for you alone:
#     curl -fsSL ${relay}/install.sh | sh
#     curl -fsSL ${relay}/install.sh | sh -s -- INVITATION
# The second line also accepts an invitation. Both replace an installed culvert.
set -eu

relay='${relay}'

fail() {
  printf 'culvert was not installed: %s\n' "$1" >&2
  exit 1
}

# fetch PATH FILE
fetch() {
  code=0
  if command -v curl >/dev/null 2>&1; then
    quiet=-s
    if [ -t 2 ]; then quiet=--progress-bar; fi
    curl -fL -S "$quiet" --compressed --connect-timeout 30 -o "$2" "$relay$1" || code=$?
  elif command -v wget >/dev/null 2>&1; then
    wget -q -T 60 -O "$2" "$relay$1" || code=$?
    case $code in 3) code=23 ;; 8) code=22 ;; esac
  else
    fail 'this script needs curl or wget.'
  fi
  case $code in
    0) ;;
    22) fail "the relay does not have $relay$1 at the moment." ;;
    23) fail "$folder could not be written. Is there enough room? culvert needs 120 MB." ;;
    *) fail "the download broke off (code $code). Run the same line again." ;;
  esac
}

# digest FILE
digest() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1"
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r "$1"
  else fail 'this script needs sha256sum, shasum or openssl to check the download.'
  fi | cut -c 1-64
}

install() {
  invitation=$1
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) fail "there is no culvert for $(uname -s). See $relay/install." ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) system=$system-x64 ;;
    aarch64 | arm64) system=$system-arm64 ;;
    *) fail "there is no culvert for a $(uname -m) processor." ;;
  esac
  folder=$HOME/.local/bin
  if ! mkdir -p "$folder" 2>/dev/null || ! [ -w "$folder" ]; then fail "$folder cannot be written."; fi
  new=$folder/.culvert-$$
  trap 'rm -f "$new" "$new.sha256"' EXIT
  trap 'exit 1' INT TERM HUP

  printf 'Downloading culvert for %s from %s\n' "$system" "$relay" >&2
  fetch "/download/culvert-$system.sha256" "$new.sha256"
  fetch "/download/culvert-$system" "$new"
  wanted=$(cut -c 1-64 "$new.sha256")
  if [ "$(digest "$new")" != "$wanted" ]; then
    fail 'the download is not the program that the relay has. Run the same line again, and tell its operator if that does not help.'
  fi
  chmod 755 "$new"
  if [ "$system" = macos-arm64 ]; then codesign --force --sign - "$new" 2>/dev/null || true; fi
  if ! version=$("$new" --version 2>&1 </dev/null); then
    case $version in
      *GLIBC* | *libstdc* | *'not found'*)
        fail "it needs a system with glibc 2.28 or newer and libstdc++, which Alpine lacks: $version" ;;
      *) fail "it does not run here: $version" ;;
    esac
  fi
  mv -f "$new" "$folder/culvert" || fail "$folder/culvert could not be replaced."
  printf 'Installed %s as %s\n' "$version" "$folder/culvert" >&2

  command=culvert
  case ":$PATH:" in
    *":$folder:"*)
      first=$(command -v culvert || true)
      if [ "$first" != "$folder/culvert" ]; then
        command=$folder/culvert
        printf 'Note: another culvert comes first in your PATH: %s\n' "$first" >&2
      fi ;;
    *)
      command=$folder/culvert
      # shellcheck disable=SC2016
      printf 'To run it by its name, add this line to your ~/.profile: export PATH="$HOME/.local/bin:$PATH"\n' >&2 ;;
  esac
  if [ -n "$invitation" ]; then
    case $invitation in http*) ;; *) invitation=$relay/invite/$invitation ;; esac
    "$folder/culvert" login "$invitation" </dev/null
  else
    printf 'To sign in: %s login --relay %s\n' "$command" "$relay" >&2
  fi
  printf 'To give the server on port 3000 a public address: %s http 3000\n' "$command" >&2
}

# The last line, so that half of this script does nothing.
install "${'$'}{1-}"
`;
}

/** @param relay the relay's own origin */
export function powerShellScript(relay: string): string {
  return String.raw`# Installs culvert, the client of the relay at ${relay}, for you alone. In PowerShell:
#     irm ${relay}/install.ps1 | iex
#     & ([scriptblock]::Create((irm ${relay}/install.ps1))) INVITATION
# The second line also accepts an invitation. Both replace an installed culvert.
param([string] $Invitation = '')

function Install-Culvert([string] $Invitation) {
  $ErrorActionPreference = 'Stop'
  $ProgressPreference = 'SilentlyContinue'
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  $relay = '${relay}'
  $folder = Join-Path $env:LOCALAPPDATA 'Programs\Culvert'
  $program = Join-Path $folder 'culvert.exe'
  $new = Join-Path $folder 'culvert-new.exe'
  New-Item -ItemType Directory -Force -Path $folder | Out-Null
  try {
    Write-Host "Downloading culvert from $relay"
    $wanted = "$(Invoke-RestMethod "$relay/download/culvert-windows-x64.sha256")".Substring(0, 64)
    Invoke-WebRequest -UseBasicParsing "$relay/download/culvert-windows-x64" -OutFile $new
    if ((Get-FileHash -Algorithm SHA256 $new).Hash -ne $wanted) {
      throw 'culvert was not installed: the download is not the program that the relay has. Run the same line again, and tell its operator if that does not help.'
    }
    try { $version = & $new --version } catch { throw "culvert was not installed: it does not run here. $_" }
    if ($LASTEXITCODE -ne 0) { throw 'culvert was not installed: it does not run here.' }
    # Windows does not replace the file of a program that runs, but lets it have another name.
    if (Test-Path $program) { Move-Item -Force $program (Join-Path $folder 'culvert-old.exe') }
    Move-Item -Force $new $program
  } finally {
    if (Test-Path $new) { Remove-Item $new }
  }
  Write-Host "Installed $version as $program"
  # As it is stored: other entries may contain variables, which must stay.
  $key = 'registry::HKEY_CURRENT_USER\Environment'
  $path = (Get-Item -LiteralPath $key).GetValue('Path', '', 'DoNotExpandEnvironmentNames')
  if (($path -split ';') -notcontains $folder) {
    Set-ItemProperty -LiteralPath $key -Name Path -Type ExpandString -Value ("$path;$folder".TrimStart(';'))
    # Removing a variable makes Windows read them again.
    [Environment]::SetEnvironmentVariable('CULVERT_NONE', [NullString]::Value, 'User')
    $env:Path = "$env:Path;$folder"
    Write-Host "Added $folder to your PATH."
  }
  if ($Invitation -ne '') {
    if ($Invitation -notlike 'http*') { $Invitation = "$relay/invite/$Invitation" }
    & $program login $Invitation
    if ($LASTEXITCODE -ne 0) { return }
  } else {
    Write-Host "To sign in: culvert login --relay $relay"
  }
  Write-Host 'To give the server on port 3000 a public address: culvert http 3000'
}

Install-Culvert $Invitation
`;
}
