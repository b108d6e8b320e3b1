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

for (const version of ['tls1_2', 'tls1_3'] satisfies TlsVersion[]) {
  describe(`visitors who resume a session of ${version}`, () => {
    const scope = suiteScope();
    let authority: Authority;
    let files: CertificateFiles;
    let relay: Relay;
    let handshake: Handshake;

    before(async () => {
      authority = new Authority(scope);
      files = authority.issue();
      relay = await Relay.start(scope, { CULVERT_TLS_CERT: files.cert, CULVERT_TLS_KEY: files.key });
      const session = join(temporaryDirectory(scope), 'session');
      handshake = { port: relay.port, authority: authority.path, version, session };
    });

    it('need no full handshake, and are told to return within 12 h', () => {
      assert.deepEqual(begin(handshake), { reused: false, lifetime: 12 * HOUR });
      assert.equal(resume(handshake).reused, true);
    });

    it('need none after a restart', async () => {
      begin(handshake);
      await relay.stop();
      await relay.restart();
      assert.equal(resume(handshake).reused, true);
    });

    it('need none after a certificate was renewed', async () => {
      begin(handshake);
      replaceFiles(files, authority.issue());
      await eventually(20_000, () => assert.match(relay.child.stderr, /certificate loaded/));
      assert.equal(resume(handshake).reused, true);
    });

    it('need none if the relay was started with other arguments', async () => {
      begin(handshake);
      await relay.stop();
      const settings = { ...relay.databaseSettings, CULVERT_PORT: '0' };
      const args = ['serve', '--tls-cert', files.cert, '--tls-key', files.key, '--robots', 'allow'];
      const other = spawnRelay(scope, args, settings);
      const port = await other.line((line) => /:(\d+)$/.exec(line)?.[1]);
      assert.equal(resume({ ...handshake, port: Number(port) }).reused, true);
    });

    it('need one at a relay with another database', async () => {
      const other = await Relay.start(scope, { CULVERT_TLS_CERT: files.cert, CULVERT_TLS_KEY: files.key });
      assert.equal(resume({ ...handshake, port: other.port }).reused, false);
    });
  });
}
