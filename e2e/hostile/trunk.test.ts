import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { eventually, within } from '../support/deadline.ts';
import { FaultProxy, type NetworkShape, type ProxiedConnection } from '../support/fault-proxy.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, type Response, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { concurrentTests, type Scope, suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

/** Takes seconds to transfer on the simulated network. */
const LARGE = randomBytes(24 * 1024 * 1024);
const BYTES_PER_SECOND = 8_000_000;
/** By then a data socket must carry a large transfer alone: more than fits on a trunk. */
const MOVED_BYTES = 1024 * 1024;
/** Well above the threshold that makes a distant client's transfer a large one. */
const STAYING_BYTES = 1_000_000;
/** The maximum size of a ping (RFC 6455 section 5.5), which the relay also sends on trunks. A request is larger. */
const PING_MAX_BYTES = 127;
/** ms that a visitor waits at most if the request has to be repeated after a trunk is abandoned */
const PATIENCE_MS = 120_000;
const BROKEN = /^Error: the stream ended .* early$/;

/** A request at the service that waits for the test to respond. */
interface Waiting {
  readonly url: string;
  readonly response: ServerResponse;
}

interface Stage extends HttpService {
  readonly waiting: Waiting[];
}

/**
 * A service with visitors who wait. `/begun…` responds with `first` and leaves the rest to the test, `/late…` leaves
 * everything to the test. `/large/N` sends that many bytes, `/sink` reports whether it received {@link LARGE}, and
 * other paths are echoed.
 */
async function startStage(scope: Scope): Promise<Stage> {
  const waiting: Waiting[] = [];
  const service = await startHttpService(scope, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  return Object.assign(service, { waiting });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    const [, page = '', count = ''] = /^\/([a-z]+)\/?(\d*)/.exec(url) ?? [];
    if (page === 'large') return void response.end(LARGE.subarray(0, Number(count)));
    const body = await bodyOf(request);
    if (page === 'sink') return void response.end(String(body.equals(LARGE)));
    if (page === 'begun')
      response.writeHead(200, { 'Content-Length': 'first, rest'.length }).write('first, ');
    if (page === 'begun' || page === 'late') waiting.push({ url, response });
    else response.end(url);
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** A visitor who waits at the service, and the trunk that carried the request. */
interface Placed {
  readonly visitor: RawConnection;
  readonly trunk: ProxiedConnection;
  readonly at: Waiting;
  /** the text of the whole response, or status and code of an error page, or what went wrong */
  readonly outcome: Promise<string>;
}

/** `culvert` with two trunks, behind its own simulated network. Visitors use another path. */
class World {
  readonly #scope: Scope;
  readonly relay: Relay;
  readonly network: FaultProxy;
  readonly culvert: Culvert;
  readonly stage: Stage;
  #asked = 0;

  private constructor(scope: Scope, relay: Relay, network: FaultProxy, culvert: Culvert, stage: Stage) {
    this.#scope = scope;
    this.relay = relay;
    this.network = network;
    this.culvert = culvert;
    this.stage = stage;
  }

  static async start(
    scope: Scope,
    relay: Relay,
    key: string,
    shape: Partial<NetworkShape> = {},
  ): Promise<World> {
    const network = await FaultProxy.start(scope, relay.port);
    Object.assign(network.shape, shape);
    const stage = await startStage(scope);
    const culvert = await Culvert.start(scope, network, key, stage.port);
    const world = new World(scope, relay, network, culvert, stage);
    await world.twoTrunks();
    return world;
  }

  get trunks(): ProxiedConnection[] {
    return this.network.connectionsTo('/ws/trunk');
  }

  get host(): string {
    return hostOf(this.culvert.tunnel, this.relay);
  }

  /** Waits until there are two trunks, which are opened when visitors arrive. */
  async twoTrunks(): Promise<void> {
    await eventually(PATIENCE_MS, async () => {
      await this.served();
      assert.equal(this.trunks.filter(({ deliveredToClient }) => deliveredToClient > 0).length, 2);
    });
  }

  /** Asserts that a small request gets its response. */
  async served(): Promise<void> {
    this.#asked += 1;
    const target = `/${this.#asked}`;
    assert.equal((await this.#visit({ target })).text, target);
  }

  async #visit(request: Partial<Request>): Promise<Response> {
    const visitor = await RawConnection.open(this.#scope, this.relay.port, PATIENCE_MS);
    try {
      return await visitor.request({ host: this.host, ...request });
    } finally {
      visitor.socket.destroy();
    }
  }

  /** Sends a request as a visitor and leaves the response unread. */
  async ask(request: Partial<Request>): Promise<RawConnection> {
    const visitor = await RawConnection.open(this.#scope, this.relay.port, PATIENCE_MS);
    await visitor.write(formatRequest({ host: this.host, ...request }));
    return visitor;
  }

  /** Waits until a request has arrived at the service, and removes it from the waiting ones. */
  async arrived(url: string): Promise<Waiting> {
    return await eventually(PATIENCE_MS, () => {
      const index = this.stage.waiting.findIndex((each) => each.url === url);
      assert.notEqual(index, -1, `${url} has not come`);
      return this.stage.waiting.splice(index, 1)[0] ?? assert.fail();
    });
  }

  /** Sends a request that waits at the service. No other request may be sent at the same time. */
  async place(page: 'begun' | 'late', request: Partial<Request> = {}): Promise<Placed> {
    this.#asked += 1;
    const target = `/${page}/${this.#asked}`;
    const before = this.trunks.map((trunk) => [trunk, trunk.deliveredToClient] as const);
    const visitor = await this.ask({ target, ...request });
    const at = await this.arrived(target);
    const carriers = before.filter(([trunk, bytes]) => trunk.deliveredToClient - bytes > PING_MAX_BYTES);
    assert.equal(carriers.length, 1, 'it came through one trunk');
    const outcome = visitor.response(request.method).then(
      ({ status, head, text }) => (status === 200 ? text : `${status} ${head.field('culvert-error')}`),
      (error: unknown) => String(error),
    );
    return { visitor, trunk: carriers[0]?.[0] ?? assert.fail(), at, outcome };
  }

  /** Places visitors of three kinds on each trunk: halfway through a response, and without one, repeatable or not. */
  async placeAll(): Promise<Map<ProxiedConnection, Trio>> {
    const trios = new Map<ProxiedConnection, Trio>();
    const placed: [keyof Trio, Placed][] = [];
    for (const [kind, page, request] of [
      ['halfway', 'begun', {}],
      ['repeatable', 'late', {}],
      ['once', 'late', { method: 'POST', body: 'once' }],
    ] as const) {
      for (let count = 0; count < 2; count += 1) placed.push([kind, await this.place(page, request)]);
    }
    for (const trunk of this.trunks) {
      const of = (kind: keyof Trio): Placed =>
        placed.find(([each, { trunk: carrier }]) => each === kind && carrier === trunk)?.[1] ??
        assert.fail(kind);
      trios.set(trunk, { halfway: of('halfway'), repeatable: of('repeatable'), once: of('once') });
    }
    return trios;
  }

  /** A large transfer in progress, already carried by a data socket. */
  async transfer(what: 'download' | 'upload'): Promise<{ data: ProxiedConnection; complete: Promise<void> }> {
    this.network.shape.bytesPerSecond = BYTES_PER_SECOND;
    const isUpload = what === 'upload';
    const visitor = await RawConnection.open(this.#scope, this.relay.port, PATIENCE_MS);
    const request = isUpload
      ? { target: '/sink', method: 'POST', body: LARGE }
      : { target: `/large/${LARGE.length}` };
    visitor.socket.write(formatRequest({ host: this.host, ...request }));
    const check = async (): Promise<void> => {
      const { status, text, body } = await visitor.response();
      assert.ok(isUpload ? text === 'true' : body.equals(LARGE), `another body, ${status}`);
    };
    const complete = check();
    complete.catch(() => undefined);
    const data = await eventually(PATIENCE_MS, () => {
      const [connection] = this.network.connectionsTo('/ws/data');
      const bytes = isUpload ? connection?.deliveredToClient : connection?.deliveredToRelay;
      assert.ok(connection !== undefined && (bytes ?? 0) > MOVED_BYTES, 'it has not moved');
      return connection;
    });
    return { data, complete };
  }
}

interface Trio {
  readonly halfway: Placed;
  readonly repeatable: Placed;
  readonly once: Placed;
}

/** Lets the unaffected visitors of a trunk finish. */
async function assertFinish({ halfway, repeatable, once }: Trio): Promise<void> {
  halfway.at.response.end('rest');
  repeatable.at.response.end('late');
  once.at.response.end('late');
  assert.equal(await halfway.outcome, 'first, rest');
  assert.equal(await repeatable.outcome, 'late');
  assert.equal(await once.outcome, 'late');
}

/** After the trunk was abandoned: repeatable requests are repeated, and no partial response looks complete. */
async function assertLost(world: World, { halfway, repeatable, once }: Trio): Promise<void> {
  assert.match(await halfway.outcome, BROKEN);
  assert.equal(await once.outcome, '502 client-closed');
  const again = await world.arrived(repeatable.at.url);
  again.response.end('again');
  assert.equal(await repeatable.outcome, 'again');
}

/** Sends visitors until something has happened. */
async function visitorsUntil(
  world: World,
  happened: Promise<unknown>,
): Promise<{ served: number; all: Promise<unknown> }> {
  const state = { isOver: false, served: 0 };
  void happened.then(() => (state.isOver = true));
  const visits: Promise<unknown>[] = [];
  while (!state.isOver) {
    visits.push(world.served().then(() => (state.served += 1)));
    await Promise.race([happened, delay(250)]);
  }
  return { served: state.served, all: Promise.all(visits) };
}

describe('trunks on a bad network', function () {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  const together = concurrentTests();

  async function start(): Promise<World> {
    return await World.start(scope, relay, (await pool.take()).key);
  }

  together(
    'that go silent are abandoned: new visitors are served, and repeatable requests on them are repeated',
    async () => {
      const world = await start();
      const [[silent, lost], [, kept]] = twoOf([...(await world.placeAll())]);
      silent.swallow();
      const { served, all } = await visitorsUntil(world, lost.halfway.outcome);
      assert.ok(served > 0, 'nobody was served before it was given up');
      await all;
      await assertLost(world, lost);
      await assertFinish(kept);
      await world.twoTrunks();
    },
  );

  together('are both abandoned when they go silent, and new visitors are announced', async () => {
    const world = await start();
    const trios = await world.placeAll();
    for (const trunk of trios.keys()) trunk.swallow();
    const [[, one], [, other]] = twoOf([...trios]);
    const gone = Promise.all([one.halfway.outcome, other.halfway.outcome]);
    const { served, all } = await visitorsUntil(world, gone);
    assert.ok(served > 0, 'nobody was served before they were given up');
    await all;
    await assertLost(world, one);
    await assertLost(world, other);
    await world.twoTrunks();
  });

  together('are replaced when one or both are cut, and the other one serves in between', async () => {
    const world = await start();
    const [[cut, lost], [last, kept]] = twoOf([...(await world.placeAll())]);
    cut.reset();
    await assertLost(world, lost);
    await world.served();
    last.reset();
    await assertLost(world, kept);
    await world.served();
    await world.twoTrunks();
  });

  together('that are held up for 2 s do not delay the other one, and lose nothing', async () => {
    const world = await start();
    const [[held, late], [, free]] = twoOf([...(await world.placeAll())]);
    held.stall();
    late.repeatable.at.response.end('late');
    await assertFinish(free);
    const [first, second] = [free.halfway.visitor, free.repeatable.visitor];
    for (let count = 0; count < 20; count += 1) {
      for (const visitor of [first, second]) {
        const target = `/${count}`;
        assert.equal((await visitor.request({ host: world.host, target })).text, target);
      }
    }
    assert.equal(await Promise.race([late.repeatable.outcome, delay(2000)]), undefined);
    held.flow();
    await assertFinish(late);
  });

  together('keep their visitors when the control connection is cut, and close afterwards', async () => {
    const world = await start();
    const trios = await world.placeAll();
    const online = world.culvert.nextEvent('online', 60_000);
    for (const control of world.network.connectionsTo('/ws/control')) control.reset();
    await online;
    await world.served();
    for (const trio of trios.values()) {
      await assertFinish(trio);
      for (const { visitor } of Object.values(trio) as Placed[]) visitor.socket.destroy();
    }
    await eventually(60_000, () => {
      const old = world.trunks.filter((trunk) => trios.has(trunk));
      assert.deepEqual(old, [], 'a trunk of the control connection before');
    });
    await world.twoTrunks();
  });

  for (const [what, hold] of [
    ['suspended for a moment, keeps its visitors', async () => await delay(1000)],
    [
      'suspended for longer, loses whose response has begun and serves the others when it is back',
      async (trios: Iterable<Trio>) => {
        for (const { halfway } of trios) await halfway.outcome;
      },
    ],
  ] as const) {
    together(`a client that is ${what}`, async () => {
      const world = await start();
      const trios = await world.placeAll();
      world.culvert.child.kill('SIGSTOP');
      const visits = Promise.all([world.served(), world.served(), world.served()]);
      visits.catch(() => undefined);
      await hold(trios.values());
      world.culvert.child.kill('SIGCONT');
      await visits;
      for (const trio of trios.values()) {
        if (what.includes('keeps')) await assertFinish(trio);
        else await assertLost(world, trio);
      }
      await world.twoTrunks();
    });
  }

  together('leave no response that looks complete when the client is killed', async () => {
    const world = await start();
    const trios = await world.placeAll();
    world.culvert.child.kill('SIGKILL');
    for (const { halfway, once, repeatable } of trios.values()) {
      assert.match(await halfway.outcome, BROKEN);
      assert.equal(await once.outcome, '502 client-closed');
      assert.match(await repeatable.outcome, /^50[234] /);
    }
  });
});

/** Sequential, because they transfer much data. */
describe('large transfers on a bad network', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);

  /** A distant client, so that streams may move. */
  async function start(): Promise<World> {
    return await World.start(scope, relay, (await pool.take()).key, { latencyMs: 5 });
  }

  for (const what of ['download', 'upload'] as const) {
    it(`${what}s continue when both trunks are cut`, async () => {
      const world = await start();
      const { complete } = await world.transfer(what);
      for (const trunk of world.trunks) trunk.reset();
      await complete;
    });

    it(`${what}s break when their data socket is cut, and nothing else does`, async () => {
      const world = await start();
      const trios = await world.placeAll();
      const { data, complete } = await world.transfer(what);
      data.reset();
      await assert.rejects(complete, what === 'download' ? BROKEN : /another body, 502|the stream ended/);
      for (const trio of trios.values()) await assertFinish(trio);
    });
  }

  it('do not move when nothing arrives on their data socket', async () => {
    const world = await start();
    const swallowed: ProxiedConnection[] = [];
    world.network.onRequest = (connection) => {
      if (connection.path !== '/ws/data') return;
      connection.swallow();
      swallowed.push(connection);
    };
    world.network.shape.bytesPerSecond = STAYING_BYTES;
    const visitor = await world.ask({ target: `/large/${STAYING_BYTES}` });
    assert.ok((await visitor.response()).body.equals(LARGE.subarray(0, STAYING_BYTES)));
    assert.equal(swallowed.length, 1);
  });
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  describe(`trunks of a relay that is restarted with ${signal}`, () => {
    const scope = suiteScope();

    it(
      signal === 'SIGTERM' ? 'complete what is on them' : 'leave no response that seems to be whole',
      async () => {
        const relay = await Relay.start(scope, WITH_TRUNKS);
        const { key } = await new AccountPool(relay).take();
        const world = await World.start(scope, relay, key);
        const trios = await world.placeAll();
        const exit = relay.stop(signal);
        for (const trio of trios.values()) {
          if (signal === 'SIGTERM') await assertFinish(trio);
          else
            for (const { outcome } of Object.values(trio))
              assert.match(await outcome, /^Error: the stream ended /);
        }
        await within(60_000, 'end of the relay', exit);
        await relay.restart();
        await eventually(60_000, () => visit(relay.port, { host: 'localhost', target: '/healthz' }));
        await eventually(PATIENCE_MS, () => world.served());
        await world.twoTrunks();
      },
    );
  });
}

function twoOf<T>(items: readonly T[]): readonly [T, T] {
  const [first, second, ...more] = items;
  assert.ok(first !== undefined && second !== undefined && more.length === 0, `${items.length} of them`);
  return [first, second];
}
