#!/bin/sh
# usage: setup.sh [PACKAGE...]: installs the third-party programs that the tests and the fuzzer run, if they are
# missing; without arguments, all of them. PACKAGE is the name of a Debian package.
set -eu
folder=$(dirname "$0")
[ $# -gt 0 ] || set -- openssl curl nginx libnginx-mod-stream haproxy caddy apache2-bin chromium firefox-esr postgresql redis-server strace libfaketime pebble unbound bind9-dnsutils libnss3-tools prometheus systemd iproute2 nghttp2-client busybox wget python3 python3-h2 dbus-daemon python3-dbus python3-gi debootstrap zsh fish mandoc man-db libplist-utils libxml2-utils

has() {
  case $1 in
    nginx) [ -x /usr/sbin/nginx ] ;;
    libnginx-mod-stream) [ -e /usr/lib/nginx/modules/ngx_stream_module.so ] ;;
    apache2-bin) [ -x /usr/sbin/apache2 ] ;;
    aria2) command -v aria2c >/dev/null ;;
    git) [ -x "$(git --exec-path 2>/dev/null)/git-http-backend" ] ;;
    libapache2-mod-svn) [ -e /usr/lib/apache2/modules/mod_dav_svn.so ] ;;
    python3) [ -x /usr/bin/python3 ] ;;
    subversion) command -v svn >/dev/null ;;
    chromium) command -v chromium >/dev/null || [ -n "${CULVERT_CHROMIUM:-}" ] ;;
    # Its tests run on Linux only.
    firefox-esr) command -v firefox-esr >/dev/null || [ "$(uname)" != Linux ] ;;
    libfaketime) ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 ;;
    unbound) [ -x /usr/sbin/unbound ] ;;
    debootstrap) [ -x /usr/sbin/debootstrap ] ;;
    bind9-dnsutils) command -v dig >/dev/null ;;
    nghttp2-client) command -v nghttp >/dev/null ;;
    python3-h2) /usr/bin/python3 -c 'import h2' 2>/dev/null ;;
    # Its tests run on Linux only.
    dbus-daemon) command -v dbus-daemon >/dev/null || [ "$(uname)" != Linux ] ;;
    python3-dbus) /usr/bin/python3 -c 'import dbus' 2>/dev/null || [ "$(uname)" != Linux ] ;;
    python3-gi) /usr/bin/python3 -c 'import gi' 2>/dev/null || [ "$(uname)" != Linux ] ;;
    systemd) command -v systemd-socket-activate >/dev/null ;;
    libplist-utils) command -v plistutil >/dev/null ;;
    libxml2-utils) command -v xmllint >/dev/null ;;
    man-db) command -v man >/dev/null ;;
    libc6-dev) [ -e /usr/include/stdio.h ] ;;
    iproute2) command -v ip >/dev/null ;;
    openssh-server) [ -x /usr/sbin/sshd ] ;;
    openssh-client) command -v ssh >/dev/null ;;
    mosquitto) [ -x /usr/sbin/mosquitto ] ;;
    mosquitto-clients) command -v mosquitto_pub >/dev/null ;;
    redis-tools) command -v redis-cli >/dev/null ;;
    postgresql-client) command -v psql >/dev/null ;;
    libnss3-tools) command -v certutil >/dev/null ;;
    haproxy) [ -x /usr/sbin/haproxy ] ;;
    postgresql) [ -d /usr/lib/postgresql ] ;;
    redis-server) [ -x /usr/bin/redis-server ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=
for package in "$@"; do
  has "$package" || missing="$missing $package"
done
# Package names contain no blanks.
# shellcheck disable=SC2086
sh "$folder/install.sh" "The tests" $missing
case " $* " in
  *" chromium "*)
    # For the window tests: the full browser works as well, but needs far more CPU time.
    if [ -z "${CULVERT_CHROMIUM:-}" ] && ! command -v chromium-headless-shell >/dev/null; then
      sh "$folder/install.sh" "Fast tests of the window" chromium-headless-shell || true
    fi
    ;;
esac
