import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { eventually, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Culvert, newApiKey, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, WEBSOCKET } from '../support/raw-http.ts';
import { assertAtMostBurst, untilRefused } from '../support/rate-limit.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** An address like that of a remote visitor: only 127.0.0.1 counts as this machine. */
const VISITOR = '127.0.0.2';
const OTHER = '127.0.0.3';
const THIRD = '127.0.0.4';

const HAS_SEVERAL_PROCESSES = process.env['CULVERT_WORKERS'] !== undefined;
/** How long a process may refuse a visitor because it has not learned yet what has ended at another one. */
const LEARNT_MS = HAS_SEVERAL_PROCESSES ? 20_000 : 0;

type FivePooled = [RawConnection, RawConnection, RawConnection, RawConnection, RawConnection];

function assertTooMany({ status, head }: Awaited<ReturnType<RawConnection['response']>>): void {
  assert.deepEqual([status, head.field('culvert-error'), head.field('retry-after')], [429, 'too-many', '5']);
}

describe('connections from one address (CULVERT_ADDRESS_CONNECTIONS)', () => {
  const { scope, relay } = relaySuite();
  let host: string;
  /** local connections of requests with incomplete responses */
  const unfinished: Socket[] = [];

  before(async () => {
    const service = await startRawService(scope, (socket) =>
      socket.on('data', (bytes: Buffer) => {
        const isHeld = bytes.toString('latin1').startsWith('GET /held ');
        socket.write(isHeld ? ANSWER.slice(0, -1) : ANSWER);
        if (isHeld) unfinished.push(socket);
      }),
    );
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    host = `${tunnel.slug}.localhost`;
  });

  async function connect(address: string): Promise<RawConnection> {
    return await RawConnection.open(scope, relay.port, undefined, address);
  }

  it('carry up to 256 requests; one more gets 429 too-many with Retry-After, and its connection ends', async () => {
    const served: RawConnection[] = [];
    for (let count = 0; count < 256; count += 1) {
      const visitor = await connect(VISITOR);
      await visitor.write(formatRequest({ host, target: '/held' }));
      assert.equal((await visitor.finalHead()).status, 200);
      served.push(visitor);
    }
    const refused = await connect(VISITOR);
    assertTooMany(await refused.request({ host }));
    assert.equal(await refused.ending, 'end');
    // Neither other addresses nor earlier visitors are affected, and the API is open to all.
    assert.equal((await (await connect(OTHER)).request({ host })).status, 200);
    for (const socket of unfinished) socket.write('k');
    assert.equal((await served[0]?.reader.exactly(2))?.toString(), 'ok');
    assert.equal((await served[0]?.request({ host }))?.status, 200);
    assert.equal(
      (await (await connect(VISITOR)).request({ host: 'localhost', target: '/healthz' })).status,
      200,
    );
    for (const visitor of served) visitor.reset();
  }).timeout(600_000);

  it('make room while they are idle, starting with the one that has been idle longest', async () => {
    const [first, second] = [await connect(THIRD), await connect(THIRD)];
    for (const visitor of [second, first]) assert.equal((await visitor.request({ host })).status, 200);
    for (let count = 2; count < 256; count += 1) {
      const visitor = await connect(THIRD);
      await visitor.write(formatRequest({ host, target: '/held' }));
      assert.equal((await visitor.finalHead()).status, 200);
    }
    assert.equal((await (await connect(THIRD)).request({ host })).status, 200);
    const ended = [first, second].map(async (visitor) => {
      assert.equal(await visitor.ending, 'end');
      return visitor;
    });
    const gone = await within(60_000, 'room', Promise.race(ended));
    // With several processes, it is the one that has been idle longest at one of them.
    if (!HAS_SEVERAL_PROCESSES) assert.ok(gone === second);
    assert.equal((await (gone === first ? second : first).request({ host })).status, 200);
  }).timeout(600_000);
});

describe('a few connections from one address', () => {
  const { scope, relay, pool } = relaySuite({
    CULVERT_ADDRESS_CONNECTIONS: '3',
    CULVERT_TRUNKS: '8',
    CULVERT_TRUST_PROXY: '127.0.0.1',
  });
  let client: ManualClient;

  before(async () => {
    client = await ManualClient.start(scope, relay, pool);
  });

  async function ask(visitor: RawConnection, address: string): Promise<RawConnection> {
    const headers = [['X-Forwarded-For', address]] as const;
    await visitor.write(formatRequest({ host: client.host, headers }));
    return visitor;
  }

  it('are limited by requests per visitor behind a trusted proxy, whose connections stay open', async () => {
    const pooled = await Promise.all(Array.from({ length: 5 }, () => RawConnection.open(scope, relay.port)));
    const [first, second, third, fourth, fifth] = pooled as FivePooled;
    for (const visitor of [first, second, third]) await ask(visitor, '203.0.113.9');
    await ask(fourth, '2001:db8::1');
    const streams = [];
    for (let count = 0; count < 4; count += 1) streams.push(await client.accept());
    await ask(fifth, '198.51.100.7, 203.0.113.9');
    assertTooMany(await fifth.response());
    for (const stream of streams) stream.send(ANSWER);
    for (const visitor of pooled.slice(0, 4)) assert.equal((await visitor.response()).text, 'ok');
    const headers = [['X-Forwarded-For', '203.0.113.9']] as const;
    await eventually(LEARNT_MS, async () => {
      assert.equal((await fifth.request({ host: 'nobody.localhost', headers })).status, 404);
    });
    await ask(fifth, '203.0.113.9');
    (await client.accept()).send(ANSWER);
    assert.equal((await fifth.response()).text, 'ok');
    for (const visitor of pooled) visitor.reset();
  });

  it('do not include the sockets of clients', async () => {
    const clients = [];
    for (let count = 0; count < 8; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port, undefined, VISITOR);
      const headers = [
        ['Upgrade', 'websocket'],
        ['Connection', 'Upgrade'],
        ['Sec-WebSocket-Version', '13'],
        ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
        ['Authorization', `Bearer ${client.account.key}`],
      ] as const;
      const target = `/ws/trunk?tunnel_id=${client.tunnel.id}`;
      assert.equal((await visitor.request({ host: 'localhost', target, headers })).status, 101);
      clients.push(visitor);
    }
    const visitor = await RawConnection.open(scope, relay.port, undefined, VISITOR);
    await visitor.write(formatRequest({ host: client.host }));
    await clients[0]?.reader.through('\r\n\r\n');
    for (const connection of [...clients, visitor]) connection.reset();
  });
});

describe('requests from one address (CULVERT_ADDRESS_REQUESTS)', () => {
  const scope = suiteScope();

  it('are limited to the configured rate, after a burst of ten times as many; the connection stays open', async () => {
    const relay = await Relay.start(scope, { CULVERT_ADDRESS_REQUESTS: '1' });
    const visitor = await RawConnection.open(scope, relay.port, undefined, VISITOR);
    const other = await RawConnection.open(scope, relay.port, undefined, OTHER);
    const host = 'nobody.localhost';
    const statuses = new Map<number, number>();
    for (let count = 0; count < 40; count += 1) {
      const { status } = await visitor.request({ host });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    // A second or more may pass in the meantime.
    assert.ok((statuses.get(404) ?? 0) >= 10 && (statuses.get(429) ?? 0) >= 10, [...statuses].join(' '));
    assert.equal((await other.request({ host })).status, 404);
    for (let count = 0; count < 40; count += 1) {
      assert.equal((await visitor.request({ host: 'localhost', target: '/healthz' })).status, 200);
    }
  });
});

describe('wrong keys from one address', () => {
  const { scope, relay } = sharedRelaySuite();
  const [CALLER, BYSTANDER] = ['127.0.0.21', '127.0.0.22'];

  it('are limited to 30 a minute, on the API and control sockets together; a valid key keeps working', async () => {
    const ask = async (key: string, target: string, address: string) => {
      const caller = await RawConnection.open(scope, relay.port, undefined, address);
      const headers = [
        ['Authorization', `Bearer ${key}`],
        // The relay determines the source of a request itself.
        ['X-Forwarded-For', '203.0.113.9'],
        ...(target.startsWith('/ws') ? WEBSOCKET : []),
      ] as const;
      const answer = await caller.request({ host: 'localhost', target, headers });
      caller.reset();
      return answer;
    };
    const control = '/ws/control?tunnel_id=0b5c2f6e-6a55-4f6b-9f0e-2d1f8c0f3f11';
    const right = await ask(relay.bootstrapKey, '/v1/tunnels', CALLER);
    assert.equal(right.status, 200);
    const statuses: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      const { status } = await ask(newApiKey(), count % 2 === 0 ? '/v1/tunnels' : control, CALLER);
      statuses.push(status);
    }
    // Two more for each second that has passed in the meantime.
    assert.deepEqual(
      statuses.slice(0, 30),
      Array.from({ length: 30 }, () => 401),
    );
    assert.ok(statuses.includes(429));
    for (const target of ['/v1/tunnels', control]) {
      let refused = right;
      const spent = await untilRefused(async () => {
        refused = await ask(newApiKey(), target, CALLER);
        return refused.status === 401;
      });
      assertAtMostBurst(spent, { burst: 1, regainMs: 2000 });
      const { error } = JSON.parse(refused.text) as { error: string };
      assert.deepEqual([refused.status, error], [429, 'too many wrong api keys from this address']);
      assert.match(refused.head.field('retry-after') ?? '', /^\d+$/);
    }
    assert.equal((await ask(relay.bootstrapKey, '/v1/tunnels', CALLER)).status, 200);
    assert.equal((await ask(newApiKey(), '/v1/tunnels', BYSTANDER)).status, 401);
  });
});
