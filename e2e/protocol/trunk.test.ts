import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { AccountPool, administer, createAccount, withNewKey } from '../support/accounts.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { trunksOf, WITH_METRICS } from '../support/memory.ts';
import { Culvert, type Environment, newApiKey, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { draining, sharedRelaySuite } from '../support/relay-suite.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { Kind, TrunkClient } from '../support/spec-client/trunk.ts';
import {
  assertHeldAtMost,
  BROKEN,
  checksum,
  closeCode,
  endOf,
  HALF,
  type Halfway,
  HOPS_BYTES,
  ok,
  refusalOf,
  TrunkWorld,
  UPGRADE,
  WITH_TRUNKS,
} from '../support/trunk-world.ts';

const WINDOW = 65_536;
const LARGEST_WINDOW = 262_144;

describe('trunks (protocol.md section 10)', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  const world = new TrunkWorld(scope, relay, pool);

  async function open(key: string | undefined, tunnelId: string): Promise<TrunkClient> {
    return await TrunkClient.open(scope, relay, key, tunnelId);
  }

  /** An upload of which the client has received a window, and grants no more. */
  async function heldUpload() {
    const { client, trunk } = await world.client();
    trunk.grants = false;
    const body = randomBytes(4 * WINDOW);
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    const writing = visitor.write(formatRequest({ host: client.host, method: 'POST', body }));
    const stream = await trunk.accept();
    await stream.receivedBytes(WINDOW);
    // A visitor who leaves stops writing.
    writing.catch(() => undefined);
    return { client, trunk, visitor, stream, body, writing };
  }

  describe('are refused', () => {
    it('without a key, and with one that does not exist', async () => {
      const { client } = await world.client();
      assert.deepEqual(await refusalOf(open(undefined, client.tunnel.id)), [401, 'missing api key']);
      assert.deepEqual(await refusalOf(open(newApiKey(), client.tunnel.id)), [401, 'invalid api key']);
    });

    it('without tunnel_id, even before the key', async () => {
      assert.deepEqual(await refusalOf(open(undefined, '')), [400, 'tunnel_id is required']);
    });

    it('without an upgrade, before any other check', async () => {
      const answer = await visit(relay.port, { host: `localhost:${relay.port}`, target: '/ws/trunk' });
      assert.equal(answer.status, 426);
    });

    it('for a tunnel that is unknown or belongs to another account', async () => {
      const { client } = await world.client();
      const stranger = await createAccount(relay);
      for (const id of [client.tunnel.id, '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47', 'nonsense'])
        assert.deepEqual(await refusalOf(open(stranger.key, id)), [404, 'tunnel not found']);
    });

    it('without an open control socket', async () => {
      const { tunnel, account } = await pool.tunnel();
      assert.deepEqual(await refusalOf(open(account.key, tunnel.id)), [404, 'tunnel not connected']);
    });

    it('beyond two, until one has ended', async () => {
      const { client, trunk } = await world.client();
      await client.trunk();
      const third = await refusalOf(client.trunk());
      assert.deepEqual(third, [429, 'too many trunks']);
      trunk.socket.drop();
      await eventually(20_000, () => client.trunk());
    });
  });

  describe('bring a visitor', () => {
    it('without a message, from the first byte of the request', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk, { target: '/some' });
      assert.match(stream.received.toString(), /^GET \/some HTTP\/1\.1\r\n/);
      assert.equal(stream.id, 1);
      stream.send(ok('through'));
      assert.equal((await visitor.response()).text, 'through');
      assert.deepEqual(client.control.messages, []);
    });

    it('opened with another key of the account', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const other = await withNewKey(relay, client.account);
      const trunk = await open(other.key, client.tunnel.id);
      await world.assertServes(client, trunk);
    });

    it('in large numbers, each in a separate stream, whose bytes never mix', async () => {
      const { client, trunk } = await world.client();
      const COUNT = 8;
      const SIZE = 200_000;
      const bodies = Array.from({ length: COUNT }, () => randomBytes(SIZE));
      const visits = bodies.map(async (body, index): Promise<Response> => {
        const visitor = await world.visitor(client, { method: 'POST', target: `/${index}`, body });
        return await visitor.response();
      });
      const serve = async (): Promise<void> => {
        const stream = await trunk.accept();
        const text = await stream.receivedUpTo('\r\n\r\n');
        const index = Number(/^POST \/(\d) /.exec(text)?.[1]);
        const body = (await stream.receivedBytes(text.indexOf('\r\n\r\n') + 4 + SIZE)).subarray(-SIZE);
        assert.ok(body.equals(bodies[index] ?? assert.fail(text)), `the body of ${index}`);
        stream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
        for (let at = 0; at < SIZE; at += 7000) stream.send(body.subarray(at, at + 7000));
      };
      await Promise.all(Array.from({ length: COUNT }, serve));
      const answers = await Promise.all(visits);
      answers.forEach(({ body }, index) => assert.ok(body.equals(bodies[index] ?? assert.fail())));
      const ids = trunk.frames.filter(({ kind }) => kind === Kind.open).map(({ stream }) => stream);
      assert.deepEqual(
        ids,
        Array.from({ length: COUNT }, (_, index) => index + 1),
      );
      assert.deepEqual(client.control.messages, []);
    });

    it('through the trunk that has the fewest', async () => {
      const { client, trunk } = await world.client();
      const other = await client.trunk();
      for (let count = 1; count <= 3; count += 1) {
        await world.visitor(client);
        await world.visitor(client);
        await eventually(20_000, () => assert.deepEqual([trunk.waiting, other.waiting], [count, count]));
      }
    });

    it("and count exactly that visitor's bytes", async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk, { method: 'POST', body: 'counted' });
      const request = await stream.receivedUpTo('\r\n\r\ncounted');
      stream.send(ok('response'));
      await visitor.response();
      await eventually(20_000, async () => {
        const { bytes_in, bytes_out, requests } = await client.account.api.get(client.tunnel.id);
        const expected = { bytes_in: request.length, bytes_out: ok('response').length, requests: 1 };
        assert.deepEqual({ bytes_in, bytes_out, requests }, expected);
      });
    });

    it('who sends several requests on one connection, in one stream', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      for (const target of ['/first', '/second', '/third']) {
        stream.send(ok(target));
        assert.equal((await visitor.response()).text, target);
        await visitor.write(formatRequest({ host: client.host, target }));
        await stream.receivedUpTo(`GET ${target} `);
      }
      assert.equal(trunk.waiting, 0);
    });

    it('whose WebSocket talks both ways', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk, { headers: UPGRADE });
      stream.send(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst',
      );
      assert.equal((await visitor.finalHead()).status, 101);
      assert.equal((await visitor.reader.exactly(5)).toString(), 'first');
      for (const message of ['one', 'two', 'three']) {
        await visitor.write(`to ${message}`);
        await stream.receivedUpTo(`to ${message}`);
        stream.send(`from ${message}`);
        assert.equal((await visitor.reader.exactly(message.length + 5)).toString(), `from ${message}`);
      }
      visitor.halfClose();
      assert.equal(await endOf(stream), 1000);
    });

    it('who speaks HTTP/1.0', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk, { version: 'HTTP/1.0' });
      stream.send(ok('old'));
      assert.equal((await visitor.response()).text, 'old');
      assert.equal(await visitor.ending, 'end');
      assert.equal(await endOf(stream), 1000);
    });
  });

  describe('the end of a stream', () => {
    it('in order completes a response that ends with its connection, and is answered', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send('HTTP/1.1 200 OK\r\n\r\nuntil the end');
      stream.end();
      assert.equal((await visitor.response()).text, 'until the end');
      assert.equal(await endOf(stream), 1000);
    });

    it('in order breaks a response with missing bytes', async () => {
      const { client, trunk } = await world.client();
      const { stream, rest } = await world.halfway(client, trunk);
      stream.end();
      assert.match(await rest, BROKEN);
    });

    for (const code of [1001, 1011, 4999]) {
      it(`with ${code} breaks a response, even one that ends with its connection`, async () => {
        const { client, trunk } = await world.client();
        const { stream, rest } = await world.halfway(client, trunk);
        stream.abort(code);
        assert.match(await rest, BROKEN);
        assert.equal(await endOf(stream), 1000);
        const [visitor, second] = await world.connect(client, trunk);
        second.send('HTTP/1.1 200 OK\r\n\r\nunfinished');
        const head = await visitor.finalHead();
        second.abort(code);
        await assert.rejects(visitor.rest(head), /the body ended by reset/);
      });
    }

    it('before a response is a 502', async () => {
      const { client, trunk } = await world.client();
      for (const how of ['end', 'abort'] as const) {
        const [visitor, stream] = await world.connect(client, trunk);
        if (how === 'end') stream.end();
        else stream.abort(1001);
        const { status, head } = await visitor.response();
        assert.deepEqual([status, head.field('culvert-error')], [502, 'client-closed']);
      }
      assert.deepEqual(client.control.messages, []);
    });

    it('between two requests leads to a new stream', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send(ok('one'));
      stream.end();
      assert.equal((await visitor.response()).text, 'one');
      await endOf(stream);
      await visitor.write(formatRequest({ host: client.host, target: '/second' }));
      const next = await trunk.accept();
      await next.receivedUpTo('GET /second ');
      next.send(ok('two'));
      assert.equal((await visitor.response()).text, 'two');
    });

    it('follows within a second of the visitor’s leaving, before and during a response', async () => {
      const { client, trunk } = await world.client();
      for (const sent of ['', HALF]) {
        const [visitor, stream] = await world.connect(client, trunk);
        stream.send(sent);
        if (sent !== '') await visitor.finalHead();
        visitor.reset();
        const { ms } = await timed(() => endOf(stream));
        assertWithin(ms, 1000);
      }
      await world.assertServes(client, trunk);
    });

    it('may cross with the other side’s, and with bytes that no longer matter', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      visitor.reset();
      stream.send(ok('late'));
      stream.end();
      await endOf(stream);
      await world.assertServes(client, trunk);
    });
  });

  describe('windows', () => {
    it('are ignored for a stream that is gone', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send(ok('done'));
      stream.end();
      assert.equal((await visitor.response()).text, 'done');
      assert.equal(await endOf(stream), 1000);
      trunk.send(Kind.window, stream.id, WINDOW);
      await world.assertServes(client, trunk);
    });

    it('hold up only a visitor who reads nothing, with at most 256 KiB of its data in the relay', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      visitor.socket.pause();
      // Far more than the system buffers hold.
      const size = 32 * 1024 * 1024;
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`;
      const body = randomBytes(size);
      stream.send(Buffer.concat([Buffer.from(head), body]));
      await eventually(60_000, async () => {
        const before = stream.sent;
        // More than one visitor needs, so that the relay gets time to read.
        for (let count = 0; count < 5; count += 1) await world.assertServes(client, trunk);
        assert.equal(stream.sent, before);
      });
      assert.equal(stream.sent, stream.granted);
      assert.ok(stream.sent < size, 'all of it has left');
      assertHeldAtMost(LARGEST_WINDOW + HOPS_BYTES, stream.sent, visitor);
      assert.equal(checksum((await visitor.response()).body), checksum(body));
    });

    it('hold back only an upload that the client grants no more bytes', async () => {
      const { client, trunk, visitor, stream, body, writing } = await heldUpload();
      trunk.grants = true;
      const size = stream.received.indexOf('\r\n\r\n') + 4 + body.length;
      for (let count = 0; count < 10; count += 1) await world.assertServes(client, trunk);
      assert.equal(stream.received.length, WINDOW);
      stream.grant(1);
      await stream.receivedBytes(WINDOW + 1);
      await world.assertServes(client, trunk);
      assert.equal(stream.received.length, WINDOW + 1);
      stream.grants = true;
      stream.grant(WINDOW);
      const received = await stream.receivedBytes(size);
      await writing;
      assert.equal(checksum(received.subarray(-body.length)), checksum(body));
      stream.send(ok('taken'));
      assert.equal((await visitor.response()).text, 'taken');
    });

    it('reveal, when they are opened again, that the visitor has left', async () => {
      const { client, trunk, visitor, stream } = await heldUpload();
      visitor.reset();
      stream.grants = true;
      stream.grant(WINDOW);
      assert.notEqual(await endOf(stream), 1000);
      await world.assertServes(client, trunk);
    });

    it('do not keep a stream from ending when they are empty', async () => {
      const { client, trunk, visitor, stream } = await heldUpload();
      stream.abort(1001);
      assert.equal(await endOf(stream), 1000);
      assert.equal((await visitor.response()).status, 502);
      await world.assertServes(client, trunk);
    });
  });

  describe('end with 1002, while the others continue, after', () => {
    let client: ManualClient;
    let steady: TrunkClient;
    let lasting: Halfway;

    before(async () => {
      ({ client, trunk: steady } = await world.client());
      lasting = await world.halfway(client, steady);
    });

    after(async () => {
      lasting.stream.send('done');
      assert.equal(await lasting.rest, 'halfdone');
      await world.assertServes(client, steady);
    });

    /** Sent while a visitor's stream is in the middle of a response. */
    const VIOLATIONS: Record<string, (trunk: TrunkClient, id: number) => void> = {
      'a frame of kind 8': (trunk, id) => trunk.send(8, id, 0),
      'a second EOF': (trunk, id) => {
        trunk.send(Kind.eof, id, 0);
        trunk.send(Kind.eof, id, 0);
      },
      'OPEN from a client': (trunk, id) => trunk.send(Kind.open, id + 1, 0),
    };
    for (const [what, violate] of Object.entries(VIOLATIONS)) {
      it(what, async () => {
        const bad = await client.trunk();
        const { stream, rest } = await world.halfway(client, bad);
        violate(bad, stream.id);
        assert.equal(await closeCode(bad), 1002);
        assert.match(await rest, BROKEN);
        await world.assertServes(client, steady);
      });
    }

    it('bytes beyond the window', async () => {
      const bad = await client.trunk();
      const [visitor, stream] = await world.connect(client, bad);
      visitor.socket.pause();
      const piece = Buffer.alloc(WINDOW);
      bad.send(Kind.data, stream.id, 19, Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
      // The relay and the system buffer some of it.
      const state = { isOpen: true };
      void bad.closed.then(() => (state.isOpen = false));
      for (let count = 0; count < 64 && state.isOpen; count += 1) {
        for (let pieces = 0; pieces < 16; pieces += 1) bad.send(Kind.data, stream.id, WINDOW, piece);
        await world.assertServes(client, steady);
      }
      assert.equal(await closeCode(bad), 1002);
      await assert.rejects(visitor.response(), /the body ended by reset/);
    });
  });

  describe('whose connection is lost', () => {
    it('leave a repeatable request to an announcement', async () => {
      const { client, trunk } = await world.client();
      const [visitor] = await world.connect(client, trunk, { target: '/again' });
      trunk.socket.drop();
      const data = await client.accept();
      await data.receivedUpTo('GET /again ');
      data.send(ok('announced'));
      assert.equal((await visitor.response()).text, 'announced');
    });

    it('or to the other trunk', async () => {
      const { client, trunk } = await world.client();
      const other = await client.trunk();
      const visitor = await world.visitor(client, { target: '/again' });
      const lost = await eventually(20_000, () => {
        return [trunk, other].find(({ waiting }) => waiting > 0) ?? assert.fail('no visitor came');
      });
      await lost.accept();
      const kept = lost === trunk ? other : trunk;
      lost.socket.drop();
      const stream = await kept.accept();
      await stream.receivedUpTo('GET /again ');
      stream.send(ok('other'));
      assert.equal((await visitor.response()).text, 'other');
      assert.deepEqual(client.control.messages, []);
    });

    it('do not repeat a request with a body that was sent', async () => {
      const { client, trunk } = await world.client();
      const [visitor] = await world.connect(client, trunk, { method: 'POST', body: 'once' });
      trunk.socket.drop();
      const { status, head } = await visitor.response();
      assert.deepEqual([status, head.field('culvert-error')], [502, 'client-closed']);
      assert.deepEqual(client.control.messages, []);
    });

    it('do not repeat a request indefinitely', async () => {
      const { client, trunk } = await world.client();
      const other = await client.trunk();
      const [visitor] = await world.connect(client, trunk);
      trunk.socket.drop();
      await other.accept();
      other.socket.drop();
      assert.equal((await visitor.response()).status, 502);
      assert.deepEqual(client.control.messages, []);
    });

    it('leave the next request of an idle connection to an announcement, whatever it is', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send(ok('first'));
      assert.equal((await visitor.response()).text, 'first');
      trunk.socket.close(1001);
      await closeCode(trunk);
      await visitor.write(formatRequest({ host: client.host, method: 'POST', body: 'second' }));
      const data = await client.accept();
      await data.receivedUpTo('\r\n\r\nsecond');
      data.send(ok('announced'));
      assert.equal((await visitor.response()).text, 'announced');
    });

    it('break a response that has begun', async () => {
      const { client, trunk } = await world.client();
      const { rest } = await world.halfway(client, trunk);
      trunk.socket.drop();
      assert.match(await rest, BROKEN);
    });

    it('also break one with a Close frame of the client', async () => {
      const { client, trunk } = await world.client();
      const { rest } = await world.halfway(client, trunk);
      trunk.socket.close(1000);
      assert.match(await rest, BROKEN);
      await world.visitor(client);
      await client.announced();
    });
  });

  describe('end with what they belong to:', () => {
    it('the control socket, after their last visitor, with 1000', async () => {
      const { client, trunk } = await world.client();
      const { visitor: early, stream, rest } = await world.halfway(client, trunk);
      const unused = await client.trunk();
      await client.reconnect();
      assert.equal(await closeCode(unused), 1000);
      const visitor = await world.visitor(client);
      const data = await client.accept();
      await data.receivedUpTo('\r\n\r\n');
      data.send(ok('announced'));
      assert.equal((await visitor.response()).text, 'announced');
      stream.send('done');
      assert.equal(await rest, 'halfdone');
      early.reset();
      assert.equal(await closeCode(trunk), 1000);
    });

    it('the control socket, despite an idle connection on them, whose next request is announced', async () => {
      const { client, trunk } = await world.client();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send(ok('first'));
      assert.equal((await visitor.response()).text, 'first');
      await client.reconnect();
      assert.equal(await closeCode(trunk), 1000);
      await visitor.write(formatRequest({ host: client.host, target: '/second' }));
      const data = await client.accept();
      await data.receivedUpTo('GET /second ');
      data.send(ok('announced'));
      assert.equal((await visitor.response()).text, 'announced');
    });

    it('a control socket that its client closes', async () => {
      const { client, trunk } = await world.client();
      const { stream, rest } = await world.halfway(client, trunk);
      client.control.socket.close(1000);
      await client.control.closed;
      stream.send('done');
      assert.equal(await rest, 'halfdone');
      assert.equal(await closeCode(trunk), 1000);
    });

    it('the tunnel, with 4001, and its visitors are cut off', async () => {
      const { client, trunk } = await world.client();
      const { rest } = await world.halfway(client, trunk);
      await client.account.api.close(client.tunnel.id);
      assert.equal(await closeCode(trunk), 4001);
      assert.match(await rest, BROKEN);
    });

    it('the key, with 4003, and its visitors are cut off; connections opened with another key stay', async () => {
      const owner = await createAccount(relay);
      const other = await withNewKey(relay, owner);
      const tunnel = await owner.api.create({ local_port: 9 });
      const client = await ManualClient.adopt(scope, relay, owner, tunnel);
      const trunk = await open(other.key, tunnel.id);
      const { rest } = await world.halfway(client, trunk);
      const kept = await client.trunk();
      await administer(relay, 'key', 'revoke', other.keyId);
      assert.equal(await closeCode(trunk), 4003);
      assert.match(await rest, BROKEN);
      await world.assertServes(client, kept);
    });
  });
});

/** These tests wait, all of them at the same time. */
describe('trunks of a client or a relay that goes away (protocol.md section 10)', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  const world = new TrunkWorld(scope, relay, pool);
  const together = concurrentTests();

  together(
    'a client that never answers gets no new visitors, and its repeatable ones are announced',
    async () => {
      const { client, trunk } = await world.client();
      trunk.socket.answersPings = false;
      const visitors = [await world.visitor(client, { target: '/0' })];
      await trunk.accept();
      trunk.socket.pause();
      await eventually(30_000, async () => {
        visitors.push(await world.visitor(client, { target: `/${visitors.length}` }));
        assert.notDeepEqual(client.control.messages, []);
      });
      // The requests that were sent on the trunk are announced when it has ended.
      for (const _ of visitors) {
        const data = await client.accept();
        const [, target = ''] = /^GET (\S+) /.exec(await data.receivedUpTo('\r\n\r\n')) ?? [];
        data.send(ok(target));
      }
      const answers = await Promise.all(visitors.map(async (visitor) => (await visitor.response()).text));
      assert.deepEqual(
        answers,
        visitors.map((_, index) => `/${index}`),
      );
    },
  );

  together(
    'a relay that is told to stop lets streams complete, and open connections send one more request',
    async () => {
      const own = await Relay.start(scope, WITH_TRUNKS);
      const itsWorld = new TrunkWorld(scope, own, new AccountPool(own));
      const { client, trunk } = await itsWorld.client();
      const { stream, rest } = await itsWorld.halfway(client, trunk);
      const unused = await client.trunk();
      const { client: other, trunk: asked } = await itsWorld.client();
      const quiet = await RawConnection.open(scope, own.port);
      own.child.kill('SIGTERM');
      // An idle connection is kept for only a second.
      await quiet.write(formatRequest({ host: other.host, method: 'POST', body: 'x' }));
      await draining(() => visit(own.port, { host: 'localhost', target: '/readyz' }));
      const last = await asked.accept();
      assert.equal((await within(20_000, 'close', client.control.closed)).code, 1001);
      assert.equal(await closeCode(unused), 1000);
      last.send(ok('done'));
      const { text, head } = await quiet.response();
      assert.deepEqual([text, head.field('connection')], ['done', 'close']);
      assert.equal(await closeCode(asked), 1000);
      stream.send('done');
      assert.equal(await rest, 'halfdone');
      assert.equal(await closeCode(trunk), 1000);
      assert.deepEqual(await own.child.exit(20_000), { code: 0, signal: null });
    },
  );
});

/** `culvert`, serving a tunnel of a relay whose number of trunks is known. */
describe('trunks of culvert', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  interface Served {
    /** Asserts that a visitor's upload arrives whole. */
    readonly visitOnce: () => Promise<void>;
    /** Waits until the relay has this many trunks. */
    readonly trunks: (count: number) => Promise<void>;
    readonly relay: Relay;
  }

  async function start(settings: Environment = {}): Promise<Served> {
    const relay = await Relay.start(scope, { ...WITH_TRUNKS, ...WITH_METRICS, ...settings });
    const { key } = await new AccountPool(relay).take();
    const service = await startEchoService(scope);
    const { tunnel } = await Culvert.start(scope, relay, key, service.port);
    return {
      async visitOnce() {
        const body = randomBytes(300_000);
        const seen = readEcho(await visit(relay.port, { host: hostOf(tunnel, relay), method: 'POST', body }));
        assert.equal(seen.sha256, checksum(body));
      },
      trunks: (count) => trunksOf(relay, count),
      relay,
    };
  }

  together('are one at first, and two when visitors arrive', async () => {
    const { visitOnce, trunks } = await start();
    await trunks(1);
    await visitOnce();
    await trunks(2);
    await Promise.all(Array.from({ length: 8 }, visitOnce));
    await trunks(2);
  });

  for (const [count, refusal] of [
    [0, [404, 'not found']],
    [1, [429, 'too many trunks']],
  ] as const) {
    together(`are ${count} with CULVERT_TRUNKS=${count}, and visitors are served`, async () => {
      const { visitOnce, trunks, relay } = await start({ CULVERT_TRUNKS: String(count) });
      await trunks(count);
      for (let visitor = 0; visitor < 4; visitor += 1) await visitOnce();
      await trunks(count);
      const client = await ManualClient.start(scope, relay, new AccountPool(relay));
      for (let allowed = 0; allowed < count; allowed += 1) await client.trunk();
      assert.deepEqual(await refusalOf(client.trunk()), refusal);
    });
  }
});
