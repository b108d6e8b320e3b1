import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { CONTROL_FRAGMENTS_MAX, CONTROL_MESSAGE_MAX_BYTES } from '../../shared/control.ts';
import { ApiError } from '../../shared/errors.ts';
import type { Protocol } from '../../shared/tunnel.ts';
import { FAR_PATH_MS } from '../../shared/trunk/trunk.ts';
import { issueKey } from '../accounts/accounts.ts';
import { generateKey } from '../accounts/api-keys.ts';
import { Authenticator, WRONG_KEYS_PER_MINUTE } from '../accounts/authenticator.ts';
import { FakeClock, HeldTime } from '../testing/fake-clock.ts';
import { anAccount, aStore, aTunnel, type TestStore } from '../testing/fixtures.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { LARGE_FROM_FAR_BYTES } from './client-trunks.ts';
import type { ControlSocket } from './control-socket.ts';
import { Hub } from './hub.ts';
import { ALONE, NO_FORWARDER, type Ownership } from './ownership.ts';
import { Upgrades } from './upgrades.ts';

const HANDSHAKE = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };

const KEY = { keyId: 'key', hash: '' };

const FIN = 0x80;
const TEXT = 1;
const BINARY = 2;
/** An empty binary message. */
const EMPTY = '\x82\0';
/** Close frames. */
const POLICY_VIOLATION = '\x88\x02\x03\xf0';
const TOO_BIG = '\x88\x02\x03\xf1';

describe('Upgrades', () => {
  let test: TestStore;
  let hub: Hub;
  let tunnel: LiveTunnel;
  let claim: Ownership['claim'];
  let createTunnel: (protocol: Protocol) => LiveTunnel;
  let headers: Readonly<Record<string, string>>;
  let upgrades: Upgrades;
  let sockets: Duplex[];
  /** address of the sender */
  let address: string | undefined;
  let strangersKey: string;

  beforeEach(async () => {
    const [account, stranger] = [anAccount(), anAccount()];
    const clock = new FakeClock();
    test = await aStore(account, stranger);
    strangersKey = (await issueKey(test.store, clock, stranger)).key;
    address = undefined;
    const registry = new TunnelRegistry(new Set());
    createTunnel = (protocol) => {
      const created = new LiveTunnel({ account, tunnel: aTunnel(account.id, { protocol }) }, clock, () => {});
      registry.add(created);
      return created;
    };
    tunnel = createTunnel('http');
    claim = () => undefined;
    hub = new Hub({ clock, maxTrunks: 8, ownership: { ...ALONE, claim: (held) => claim(held) } });
    const { key } = await issueKey(test.store, clock, account);
    headers = { ...HANDSHAKE, authorization: `Bearer ${key}` };
    const authenticator = new Authenticator(test.store, clock, { note() {} });
    upgrades = new Upgrades({
      hub,
      registry,
      authenticator,
      clock,
      maxSockets: 2,
      coordination: { followTunnel: () => Promise.resolve() },
      forwarder: NO_FORWARDER,
    });
    sockets = [];
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await test.store.close();
  });

  /** Opens a socket, and keeps the relay's end of it; returns the other end. */
  async function open(target: string): Promise<Duplex> {
    const [near, far] = duplexPair();
    sockets.push(far);
    near.resume();
    await upgrades.upgrade({
      target,
      header: (name) => headers[name],
      address,
      takeOver: () => ({ socket: far, head: Buffer.alloc(0) }),
    });
    return near;
  }

  const openControl = async (): Promise<Duplex> => await open(`/ws/control?tunnel_id=${tunnel.id}`);

  async function isRefused(target: string, retryAfter = '5'): Promise<void> {
    await assert.rejects(open(target), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.headers], [503, { 'Retry-After': retryAfter }]);
      return true;
    });
  }

  it('opens at most the limit of sockets, and keeps a refused id valid for later', async () => {
    const ids: string[] = [];
    const control = { key: KEY, announce: (id: string) => ids.push(id), close() {}, cut() {}, probe() {} };
    void hub.attach(tunnel, control as unknown as ControlSocket);
    let opened = 0;
    for (let count = 0; count < 3; count += 1) hub.dial(tunnel, { opened: () => (opened += 1), failed() {} });
    await open(`/ws/data?id=${ids[0]}`);
    await open(`/ws/data?id=${ids[1]}`);
    await isRefused(`/ws/data?id=${ids[2]}`);
    await isRefused(`/ws/trunk?tunnel_id=${tunnel.id}`);
    await isRefused(`/ws/control?tunnel_id=${tunnel.id}`);
    assert.equal(opened, 2);
    sockets[0]?.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    await open(`/ws/data?id=${ids[2]}`);
    assert.equal(opened, 3);
  });

  it('tells a client that it is connected once visitors of other relays find it', async () => {
    const known = Promise.withResolvers<void>();
    claim = () => known.promise;
    const control = await openControl();
    const read: string[] = [];
    control.setEncoding('latin1').on('data', (text: string) => read.push(text));
    hub.dial(tunnel, { opened() {}, failed() {} });
    await settled();
    assert.deepEqual(read, []);
    known.resolve();
    await settled();
    assert.match(read.join(''), /^HTTP\/1\.1 101 [^]*"type":"connection"/);
  });

  it('opens no control socket while the relay shuts down, but does open announced data sockets', async () => {
    const ids: string[] = [];
    const control = { key: KEY, announce: (id: string) => ids.push(id), close() {}, cut() {}, probe() {} };
    void hub.attach(tunnel, control as unknown as ControlSocket);
    let opened = 0;
    hub.dial(tunnel, { opened: () => (opened += 1), failed() {} });
    hub.drain();
    await isRefused(`/ws/control?tunnel_id=${tunnel.id}`, '1');
    await open(`/ws/data?id=${ids[0]}`);
    assert.equal(opened, 1);
  });

  for (const [how, protocol, query, end] of [
    ['half-closes the data socket of a raw connection if its client can tell that', 'tcp', '&ends=1', EMPTY],
    ['half-closes no other data socket of a raw connection', 'tcp', '', ''],
    ['half-closes no data socket of HTTP', 'http', '&ends=1', ''],
  ] as const)
    it(how, async () => {
      tunnel = createTunnel(protocol);
      const ids: string[] = [];
      const control = { key: KEY, announce: (id: string) => ids.push(id), close() {}, cut() {}, probe() {} };
      void hub.attach(tunnel, control as unknown as ControlSocket);
      let hasEnded = false;
      const handler = { onBytes() {}, onRoom() {}, onSentAll: () => (hasEnded = true), onEnded() {} };
      hub.dial(tunnel, {
        opened(stream) {
          stream.attach(handler);
          stream.end?.();
        },
        failed: () => assert.fail(),
      });
      const data = await open(`/ws/data?id=${ids[0]}${query}`);
      assert.equal(await answer(data, [frame(FIN | BINARY, '')]), end);
      assert.equal(hasEnded, end !== '');
    });

  describe('opens a control socket that', () => {
    it('accepts a message in at most 64 fragments', async () => {
      const [first, next, last] = [frame(TEXT, 'x'), frame(0, 'x'), frame(FIN, 'x')];
      const rest = (count: number): Buffer[] => Array<Buffer>(count).fill(next);
      const message = Buffer.concat([first, ...rest(CONTROL_FRAGMENTS_MAX - 2), last]);
      assert.equal(await answer(await openControl(), [message, message]), '');
      assert.equal(
        await answer(await openControl(), [Buffer.concat([first, ...rest(CONTROL_FRAGMENTS_MAX)])]),
        POLICY_VIOLATION,
      );
    });

    it('keeps nothing of a frame that arrives in pieces, however many, and counts its bytes', async () => {
      const bytes = [...frame(FIN | TEXT, 'x'.repeat(1000))].map((byte) => Buffer.from([byte]));
      assert.equal(await answer(await openControl(), bytes), '');
      const most = frame(TEXT, 'x'.repeat(CONTROL_MESSAGE_MAX_BYTES));
      assert.equal(await answer(await openControl(), [most, frame(0, ''), frame(FIN, 'x')]), TOO_BIG);
    });
  });

  it('queries the store for a trunk only if the key is not that of the control socket', async () => {
    let asked = 0;
    const find = test.store.findKeyOwner.bind(test.store);
    test.store.findKeyOwner = (hash) => {
      asked += 1;
      return find(hash);
    };
    await open(`/ws/control?tunnel_id=${tunnel.id}`);
    assert.equal(asked, 1);
    await open(`/ws/trunk?tunnel_id=${tunnel.id}`);
    assert.equal(asked, 1);
    headers = { ...headers, authorization: `Bearer ${generateKey()}` };
    await assert.rejects(open(`/ws/trunk?tunnel_id=${tunnel.id}`), /invalid api key/);
    assert.equal(asked, 2);
  });

  it('opens nothing of a tunnel with the key of another account, and does not use up an id for it', async () => {
    const ids: string[] = [];
    const control = { key: KEY, announce: (id: string) => ids.push(id), close() {}, cut() {}, probe() {} };
    void hub.attach(tunnel, control as unknown as ControlSocket);
    let opened = 0;
    hub.dial(tunnel, { opened: () => (opened += 1), failed() {} });
    const owners = headers;
    headers = { ...headers, authorization: `Bearer ${strangersKey}` };
    await assert.rejects(open(`/ws/control?tunnel_id=${tunnel.id}`), /tunnel not found/);
    await assert.rejects(open(`/ws/trunk?tunnel_id=${tunnel.id}`), /tunnel not found/);
    await assert.rejects(open(`/ws/data?id=${ids[0]}`), /connection not found/);
    assert.deepEqual([opened, sockets.every(({ destroyed }) => !destroyed)], [0, true]);
    headers = owners;
    await open(`/ws/data?id=${ids[0]}`);
    assert.equal(opened, 1);
  });

  describe('opens one data socket for a large stream of a trunk, if the limits allow,', () => {
    let time: HeldTime;

    beforeEach(() => {
      time = new HeldTime();
    });

    afterEach(() => time.reset());

    for (const [how, hasKey] of [
      ['with a key of its tunnel', true],
      ['without a key', false],
    ] as const) {
      it(how, async () => {
        void hub.attach(tunnel, {
          key: KEY,
          announce() {},
          close() {},
          cut() {},
          probe() {},
        } as unknown as ControlSocket);
        const trunk = new TrunkClient();
        hub.get(tunnel.id)?.addTrunk(trunk.socket, KEY);
        time.pass(FAR_PATH_MS);
        let visitor: ByteStream | undefined;
        hub.dial(tunnel, { opened: (stream) => (visitor = stream), failed: () => assert.fail() });
        await settled();
        visitor?.attach({ onBytes() {}, onRoom() {}, onEnded() {} });
        visitor?.write(Buffer.alloc(LARGE_FROM_FAR_BYTES + 1));
        await settled();
        const target = `/ws/data?id=${trunk.moves[0]?.[1]}`;
        for (let count = 0; count < 2; count += 1) await open(`/ws/trunk?tunnel_id=${tunnel.id}`);
        await isRefused(target);
        for (const socket of sockets) socket.destroy();
        await settled();
        const owners = headers;
        headers = { ...headers, authorization: `Bearer ${strangersKey}` };
        await assert.rejects(open(target), /connection not found/);
        headers = hasKey ? owners : HANDSHAKE;
        await open(target);
        await assert.rejects(open(target), /connection not found/);
      });
    }
  });

  it("counts wrong keys for the sender's address, whatever the target", async () => {
    address = '192.0.2.1';
    const targets = [
      `/ws/control?tunnel_id=${tunnel.id}`,
      `/ws/trunk?tunnel_id=${tunnel.id}`,
      '/ws/data?id=x',
    ];
    for (let count = 0; count < WRONG_KEYS_PER_MINUTE; count += 1) {
      headers = { ...HANDSHAKE, authorization: `Bearer ${generateKey()}` };
      await assert.rejects(open(targets[count % targets.length] ?? ''), /invalid api key/);
    }
    for (const target of targets) await assert.rejects(open(target), /too many wrong api keys/);
    address = '192.0.2.2';
    for (const target of targets) await assert.rejects(open(target), /invalid api key/);
  });
});

/** A frame with a mask of zeros. */
function frame(first: number, payload: string): Buffer {
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([first, ...size, 0, 0, 0, 0]), Buffer.from(payload)]);
}

/** The relay's frames in response to bytes that arrive in several pieces. */
async function answer(near: Duplex, pieces: readonly Buffer[]): Promise<string> {
  const received: Buffer[] = [];
  near.on('data', (chunk: Buffer) => received.push(chunk));
  for (const piece of pieces) {
    // A copy, because the relay unmasks in place.
    near.write(Buffer.from(piece));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(received).toString('latin1').split('\r\n\r\n').at(-1) ?? '';
}
