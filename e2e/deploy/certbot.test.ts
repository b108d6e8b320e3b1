import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Authority } from '../support/certificates.ts';
import { eventually } from '../support/deadline.ts';
import { shake } from '../support/certified-relay.ts';
import { RelayProgram, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const HOOK = fileURLToPath(new URL('../../server/deploy/certbot-hook.sh', import.meta.url));
/** A group to which this user also belongs. */
const GROUP = execFileSync('id', ['--group', '--name'], { encoding: 'utf8' }).trim();

/** Does not need certbot: the hook is called the way certbot calls it. */
describe('server/deploy/certbot-hook.sh', function () {
  this.timeout(120_000);
  const scope = suiteScope();

  it('copies a certificate for the relay, which loads each renewed one', async () => {
    const authority = new Authority(scope);
    const [certbot, folder] = [temporaryDirectory(scope), temporaryDirectory(scope)];
    renew(authority, certbot, folder);
    const relay = await RelayProgram.start(scope, {
      CULVERT_TLS_CERT: join(folder, 'fullchain.pem'),
      CULVERT_TLS_KEY: join(folder, 'privkey.pem'),
    });
    const first = await serialOf(relay, authority);
    renew(authority, certbot, folder);
    await eventually(60_000, async () => assert.notEqual(await serialOf(relay, authority), first));
    for (const name of ['fullchain.pem', 'privkey.pem'])
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o640, name);
  });

  it('copies nothing if certbot does not name a certificate, or it does not exist', () => {
    const folder = temporaryDirectory(scope);
    const { status, stderr } = spawnSync(HOOK, [folder, GROUP], { encoding: 'utf8', env: process.env });
    assert.notEqual(status, 0);
    assert.match(stderr, /RENEWED_LINEAGE/);
    const env = { ...process.env, RENEWED_LINEAGE: folder };
    assert.notEqual(spawnSync(HOOK, [folder, GROUP], { env }).status, 0);
  });
});

/** Renews like certbot: a new pair in `archive`, links to it in `live`, then the hook. */
function renew(authority: Authority, certbot: string, folder: string): void {
  const { cert, key } = authority.issue();
  const lineage = join(certbot, 'live');
  mkdirSync(lineage, { recursive: true });
  for (const [file, name] of [
    [cert, 'fullchain.pem'],
    [key, 'privkey.pem'],
  ] as const) {
    symlinkSync(file, join(lineage, 'next'));
    renameSync(join(lineage, 'next'), join(lineage, name));
  }
  execFileSync(HOOK, [folder, GROUP], { env: { ...process.env, RENEWED_LINEAGE: lineage } });
}

async function serialOf({ port }: RelayProgram, { pem }: Authority): Promise<string> {
  const { authorized, certificate } = await shake(port, 'localhost', String(pem));
  assert.ok(authorized);
  return certificate.serialNumber;
}
