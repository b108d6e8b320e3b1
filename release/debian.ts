/** The Debian package of the relay: a single-file program, its units, its settings, and the programs it hands out. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRepository, ROOT } from './repository.ts';

const DEPLOY = join(ROOT, 'server/deploy');
/** Where the units and the script expect the program that npm installs; packages have theirs in /usr/bin. */
const LOCAL = '/usr/local/bin/';
const UNITS = /\.(service|socket|timer)$/;
/** The socket is installed for those who enable it, and has an address of its own. */
const STARTS_SOCKET = /^#.*\nWants=culvert-relay\.socket\n/m;
/** For several relays on one machine, which people set up by hand. */
const TEMPLATE = 'culvert-relay@.service';
const ARCHITECTURES: Readonly<Record<string, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };

const SETTINGS = `# Settings of the Culvert relay, one per line; "culvert-relay --help" has them all. Then, as root:
#     systemctl enable --now culvert-relay
# If this machine has no proxy, with your addresses:
#CULVERT_PUBLIC_URL=https://relay.example.com
#CULVERT_TUNNEL_DOMAIN=tunnels.example.com
#CULVERT_ACME_EMAIL=you@example.com
#CULVERT_HOST=::
#CULVERT_PORT=443
`;

/** What dpkg runs, by file. */
const SCRIPTS = {
  postinst: `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
getent passwd culvert >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/culvert --shell /usr/sbin/nologin culvert
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if systemctl --quiet is-active culvert-relay; then
  # The new version takes over from the old one without losing a request.
  systemctl reload culvert-relay
elif [ -z "$2" ]; then
  echo 'Now edit /etc/culvert/relay.env, then run: systemctl enable --now culvert-relay'
fi
`,
  prerm: `#!/bin/sh
set -e
[ "$1" = remove ] && [ -d /run/systemd/system ] || exit 0
systemctl disable --now culvert-relay.service culvert-relay.socket culvert-backup.timer
`,
  postrm: `#!/bin/sh
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
[ "$1" = purge ] || exit 0
rm -rf /var/lib/culvert /etc/culvert
if getent passwd culvert >/dev/null; then userdel culvert; fi
`,
};

interface DebianPackage {
  /** as programs are named, such as `linux-x64` */
  readonly system: string;
  readonly version: string;
  /** folder with the programs, and with those to hand out in `downloads` */
  readonly programs: string;
}

/**
 * Makes the package beside the programs.
 *
 * @returns its path
 */
export function makeDebianPackage({ system, version, programs }: DebianPackage): string {
  const architecture = ARCHITECTURES[system];
  if (architecture === undefined) throw new Error(`${system} has no Debian packages`);
  const tree = join(programs, `debian-${system}`);
  const place = (folder: string): string => {
    mkdirSync(join(tree, folder), { recursive: true });
    return join(tree, folder);
  };
  rmSync(tree, { recursive: true, force: true });
  const own = place('usr/lib/culvert');
  cpSync(join(programs, `culvert-relay-${system}`), join(own, 'culvert-relay'));
  cpSync(join(programs, 'downloads'), join(own, 'downloads'), { recursive: true });
  const bin = place('usr/bin');
  symlinkSync('../lib/culvert/culvert-relay', join(bin, 'culvert-relay'));
  cpSync(join(DEPLOY, 'relay'), join(bin, 'relay'));
  const units = place('lib/systemd/system');
  for (const name of readdirSync(DEPLOY).filter((file) => UNITS.test(file) && file !== TEMPLATE)) {
    const unit = readFileSync(join(DEPLOY, name), 'utf8');
    writeFileSync(join(units, name), unit.replace(STARTS_SOCKET, '').replaceAll(LOCAL, '/usr/bin/'));
  }
  // It may contain passwords of databases.
  writeFileSync(join(place('etc/culvert'), 'relay.env'), SETTINGS, { mode: 0o600 });
  cpSync(join(ROOT, 'LICENSE'), join(place('usr/share/doc/culvert-relay'), 'copyright'));
  const control = place('DEBIAN');
  for (const [name, text] of Object.entries(SCRIPTS))
    writeFileSync(join(control, name), text, { mode: 0o755 });
  writeFileSync(join(control, 'conffiles'), '/etc/culvert/relay.env\n');
  const { address, author } = readRepository();
  writeFileSync(
    join(control, 'control'),
    `Package: culvert-relay
Version: ${version}
Architecture: ${architecture}
Maintainer: ${author.name} <${author.email}>
Homepage: ${address}
Section: net
Priority: optional
Depends: libc6 (>= 2.28), libstdc++6 (>= 8), passwd
Recommends: systemd
Description: tunnel relay that you run yourself
 Gives servers on other people's computers public addresses. The client is
 culvert, which the relay hands out at /install.
`,
  );
  const made = join(programs, `culvert-relay_${version}_${architecture}.deb`);
  // Debian 12 and Ubuntu 22.04 can read that, and it takes a tenth of the time of xz.
  execFileSync('dpkg-deb', ['-Zzstd', '--build', '--root-owner-group', tree, made], { stdio: 'pipe' });
  rmSync(tree, { recursive: true });
  return made;
}
