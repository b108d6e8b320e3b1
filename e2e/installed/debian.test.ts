/** The Debian package of the relay, on a machine without Node, with systemd as PID 1. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeDebianPackage } from '../../release/debian.ts';
import { notRun } from '../../shared/testing/posix.ts';
import { VERSION } from '../../shared/version.ts';
import { eventually } from '../support/deadline.ts';
import { emptySystem } from '../support/empty-system.ts';
import { hasNamespaces, Machine } from '../support/machine.ts';
import { LINES_OF_THIS_RUN } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { DEBIAN_ARCHITECTURE, madePrograms, SYSTEM } from './made-programs.ts';

const STEP_MS = 600_000;
/** No real version has that many releases before it. */
const NEXT = '999.0.0';

describe('the Debian package of culvert-relay', function () {
  this.timeout(STEP_MS);
  const scope = suiteScope();
  let machine: Machine;

  before(async function () {
    if (!hasNamespaces()) notRun(this, 'no namespaces here');
    const booted = await Machine.boot(scope, await emptySystem());
    if (booted === undefined) notRun(this, 'no namespaces here');
    machine = booted;
    const programs = madePrograms();
    const packages = [
      join(programs, `culvert-relay_${VERSION}_${DEBIAN_ARCHITECTURE}.deb`),
      makeDebianPackage({ system: SYSTEM, version: NEXT, programs }),
    ];
    for (const path of packages) copyFileSync(path, join(machine.root, 'root', basename(path)));
  });

  const show = (property: string) => machine.type(`systemctl show culvert-relay -P ${property}`);

  async function get(path: string): Promise<string> {
    const curl = `curl -s -m 20 -w '\\n' -H 'Host: relay.example.com' http://127.0.0.1:8443${path}`;
    return (await machine.type(curl)).trim();
  }

  it('is installed, and starts once it has settings', async () => {
    assert.match(
      await machine.type(`dpkg -i culvert-relay_${VERSION}_*.deb`),
      /edit \/etc\/culvert\/relay\.env, then run: systemctl enable --now culvert-relay$/m,
    );
    assert.equal((await machine.run('/', 'systemctl', 'is-active', 'culvert-relay')).out, 'inactive');
    writeFileSync(
      join(machine.root, 'etc/culvert/relay.env'),
      `CULVERT_PUBLIC_URL=https://relay.example.com\nCULVERT_TUNNEL_DOMAIN=tunnels.example.com\nCULVERT_TRUST_PROXY=127.0.0.1\nCULVERT_PORT=8443\n${LINES_OF_THIS_RUN}`,
    );
    await machine.type('systemctl enable --now culvert-relay');
    assert.equal(await get('/healthz'), '{"status":"ok"}');
    assert.match(await machine.type('relay account list'), /^default +dev /m);
    assert.match(await get('/install'), /^curl -fsSL https:\/\/relay\.example\.com\/install\.sh \| sh$/m);
    assert.match(await get(`/download/culvert-${SYSTEM}.sha256`), /^[0-9a-f]{64} /);
  });

  it('is upgraded to a relay that takes over, and keeps settings and data', async () => {
    const settings = readFileSync(join(machine.root, 'etc/culvert/relay.env'), 'utf8');
    await machine.type('relay account create --name later --plan dev');
    const first = await show('MainPID');
    await machine.type(`dpkg -i culvert-relay_${NEXT}_*.deb`);
    await eventually(STEP_MS, async () => assert.notEqual(await show('MainPID'), first));
    assert.equal(await get('/healthz'), '{"status":"ok"}');
    assert.equal(readFileSync(join(machine.root, 'etc/culvert/relay.env'), 'utf8'), settings);
    assert.match(await machine.type('relay account list'), /^later +dev /m);
  });

  it('is removed without its data, and purged with them', async () => {
    await machine.type('dpkg --remove culvert-relay');
    assert.equal((await machine.run('/', 'systemctl', 'is-active', 'culvert-relay')).out, 'inactive');
    await machine.type('test ! -e /usr/bin/culvert-relay && test -e /var/lib/culvert/culvert.db');
    await machine.type('dpkg --purge culvert-relay');
    await machine.type('test ! -e /var/lib/culvert && test ! -e /etc/culvert && ! getent passwd culvert');
  });
});
