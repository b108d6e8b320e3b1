import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { certificate, newKey, pemOf, publicKeyOf } from '../../server/certificates/acme/x509.ts';
import { type Handshakes, hostOf, shakeHands } from './handshakes.ts';

const DAY_MS = 24 * 3600 * 1000;

interface Seen {
  readonly name: string;
  readonly reused: boolean;
  readonly version: string | null;
}

describe('shakeHands', () => {
  let server: Server;
  let common: Pick<Handshakes, 'port' | 'authority' | 'visitors' | 'count' | 'first' | 'names'>;
  /** what the server saw */
  let seen: Seen[];

  before(async () => {
    const key = await newKey();
    const [from, until] = [Date.now() - DAY_MS, Date.now() + DAY_MS];
    const names = [hostOf(0), hostOf(1)];
    const cert = certificate({ names, publicKey: publicKeyOf(key), from, until, extensions: [] }, key);
    server = createServer({ cert, key: pemOf(key) }, (socket) => {
      socket.on('error', () => socket.destroy());
      seen.push(seenOf(socket));
      socket.resume();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    common = { port, authority: cert, visitors: 3, count: 8, first: 0, names: 2 };
  });

  beforeEach(() => (seen = []));

  after(() => server.close());

  for (const version of ['TLSv1.3', 'TLSv1.2'] as const) {
    it(`names hosts in turn, in full (${version})`, async () => {
      assert.ok((await shakeHands({ ...common, version, resumes: false })) > 0);
      assert.deepEqual(
        seen.map(({ name }) => name).toSorted(),
        Array.from({ length: 8 }, (_, index) => hostOf(index < 4 ? 0 : 1)),
      );
      assert.ok(seen.every((each) => !each.reused && each.version === version));
    });

    it(`resumes a session once it has one (${version})`, async () => {
      await shakeHands({ ...common, version, resumes: true, names: 1 });
      assert.deepEqual(
        seen.map(({ reused }) => reused),
        [false, ...Array.from({ length: 8 }, () => true)],
      );
    });
  }

  it('fails if the certificate is not valid for the name', async () => {
    const run = shakeHands({ ...common, version: 'TLSv1.3', resumes: false, first: 2, names: 3 });
    await assert.rejects(run, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});

function seenOf(socket: TLSSocket): Seen {
  const name = String((socket as { servername?: unknown }).servername);
  return { name, reused: socket.isSessionReused(), version: socket.getProtocol() };
}
