import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  Authority,
  begin,
  type CertificateFiles,
  type Handshake,
  replaceFiles,
  resume,
  type TlsVersion,
} from '../support/certificates.ts';
import { eventually } from '../support/deadline.ts';
import { Relay, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const HOUR = 3600;

describe('visitors who resume a session', () => {
  const scope = suiteScope();
  let authority: Authority;
  let files: CertificateFiles;
  let relay: Relay;
  let handshakes: Handshake[];

  before(async () => {
    authority = new Authority(scope);
    files = authority.issue();
    relay = await Relay.start(scope, { CULVERT_TLS_CERT: files.cert, CULVERT_TLS_KEY: files.key });
    const folder = temporaryDirectory(scope);
    handshakes = (['tls1_2', 'tls1_3'] satisfies TlsVersion[]).map((version) => {
      return { port: relay.port, authority: authority.path, version, session: join(folder, version) };
    });
  });

  /** Resumes a session of each version. */
  function assertReused(reused: boolean, port = relay.port): void {
    for (const handshake of handshakes)
      assert.equal(resume({ ...handshake, port }).reused, reused, handshake.version);
  }

  it('need no full handshake, and are told to return within 12 h', () => {
    for (const handshake of handshakes)
      assert.deepEqual(begin(handshake), { reused: false, lifetime: 12 * HOUR });
    assertReused(true);
  });

  it('need none after a restart', async () => {
    handshakes.forEach(begin);
    await relay.stop();
    await relay.restart();
    assertReused(true);
  });

  it('need none after a certificate was renewed', async () => {
    handshakes.forEach(begin);
    replaceFiles(files, authority.issue());
    await eventually(20_000, () => assert.match(relay.child.stderr, /certificate loaded/));
    assertReused(true);
  });

  it('need none if the relay was started with other arguments', async () => {
    handshakes.forEach(begin);
    await relay.stop();
    const settings = { ...relay.databaseSettings, CULVERT_PORT: '0' };
    const args = ['serve', '--tls-cert', files.cert, '--tls-key', files.key, '--robots', 'allow'];
    const other = spawnRelay(scope, args, settings);
    assertReused(true, Number(await other.line((line) => /:(\d+)$/.exec(line)?.[1])));
  });

  it('need one at a relay with another database', async () => {
    const other = await Relay.start(scope, { CULVERT_TLS_CERT: files.cert, CULVERT_TLS_KEY: files.key });
    assertReused(false, other.port);
  });
});
