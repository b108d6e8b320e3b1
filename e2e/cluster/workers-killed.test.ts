/** What visitors see when processes of a relay are killed (docs/decisions/0038-several-processes.md). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { connectionsOf, isWorker, workersOf } from '../support/processes.ts';
import { Culvert, RelayProgram } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

const VISITORS = 200;
const HELD = 40;
/** How files are sent. Small ones never move to a data socket. */
const PIECE_BYTES = { small: 224, large: 4096 };
const PIECES = 32;
const PIECE_MS = 30;

type Size = keyof typeof PIECE_BYTES;
/**
 * How a visitor knows the end of a file. Without either of them, the end of its connection is the end, which the system
 * tells the same way for a process that was killed.
 */
const FORMS = ['length', 'chunks'] as const;

function fileOf(name: string, size: Size): Buffer {
  return Buffer.alloc(PIECE_BYTES[size] * PIECES, createHash('sha512').update(name).digest());
}

type Outcome = 'whole' | 'broken' | 'wrong';

interface Visitor {
  readonly name: string;
  readonly socket: RawConnection['socket'];
  readonly outcome: Promise<Outcome>;
}

/** @returns the names of those with each outcome */
async function tally(visitors: readonly Visitor[]): Promise<Readonly<Record<Outcome, readonly string[]>>> {
  const outcomes = await Promise.all(visitors.map(async ({ outcome }) => await outcome));
  const those = (wanted: Outcome): string[] =>
    visitors.filter((_, index) => outcomes[index] === wanted).map(({ name }) => name);
  const sorted = { whole: those('whole'), broken: those('broken'), wrong: those('wrong') };
  console.log(`      ${sorted.whole.length} whole, ${sorted.broken.length} broken`);
  return sorted;
}

describe('visitors of a relay of three processes', () => {
  const suite = suiteScope();
  const scope = testScope();
  let service: HttpService;
  let relay: RelayProgram;
  let culvert: Culvert;
  /** fulfilled when files may be sent beyond their first half, and held requests be answered */
  let go: PromiseWithResolvers<void>;
  let held: number;

  before(async () => {
    service = await startHttpService(suite, (request, response) => void serve(request, response));
    await startRelay('1');
    await eventually(20_000, () => assert.ok(ofClient().length >= 2));
  });

  /** @param trunks how many the client may have */
  async function startRelay(trunks: string): Promise<void> {
    relay = await RelayProgram.start(suite, { CULVERT_WORKERS: '3', CULVERT_TRUNKS: trunks });
    culvert = await Culvert.start(suite, relay, relay.bootstrapKey, service.port);
  }

  beforeEach(() => {
    go = Promise.withResolvers();
    held = 0;
  });

  afterEach(() => go.resolve());

  async function serve({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, kind, form] = url.split('/');
    const size = url.endsWith('small') ? 'small' : 'large';
    const bytes = PIECE_BYTES[size];
    if (kind === 'held') {
      held += 1;
      await go.promise;
    }
    if (kind !== 'file') return void response.end('ok');
    const file = fileOf(url, size);
    if (form === 'length') response.setHeader('content-length', file.length);
    for (let piece = 0; piece < PIECES; piece += 1) {
      if (piece === PIECES / 2) await go.promise;
      response.write(file.subarray(piece * bytes, (piece + 1) * bytes));
      await delay(PIECE_MS);
    }
    response.end();
  }

  async function download(index: number, size: Size): Promise<Visitor> {
    const form = FORMS[index % FORMS.length] ?? 'length';
    const target = `/file/${form}/${index}/${size}`;
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: hostOf(culvert.tunnel, relay), target }));
    const outcome = visitor.response().then(
      ({ status, body }) => (status === 200 && body.equals(fileOf(target, size)) ? 'whole' : 'wrong'),
      () => 'broken' as const,
    );
    return { name: target, socket: visitor.socket, outcome };
  }

  /** @returns once all of them have half of their file */
  async function downloading(size: Size): Promise<readonly Visitor[]> {
    const visitors = await Promise.all(Array.from({ length: VISITORS }, (_, index) => download(index, size)));
    await eventually(60_000, () => {
      for (const { socket } of visitors) assert.ok(socket.bytesRead > (PIECES / 2) * PIECE_BYTES[size]);
    });
    return visitors;
  }

  /** @returns those whose connection a process has */
  function thoseOf<T extends { readonly socket: RawConnection['socket'] }>(
    pid: number,
    of: readonly T[],
  ): T[] {
    const connections = connectionsOf(pid);
    return of.filter(({ socket }) =>
      connections.some(({ port, peerPort }) => port === relay.port && peerPort === socket.localPort),
    );
  }

  /** The client's ends of its connections: its control socket and its trunk, once it has opened that. */
  function ofClient(): ReturnType<typeof connectionsOf> {
    return connectionsOf(culvert.child.pid).filter(({ peerPort }) => peerPort === relay.port);
  }

  function workersWithClient(): number[] {
    const ports = new Set(ofClient().map(({ port }) => port));
    return workersOf(relay.child.pid).filter((pid) =>
      connectionsOf(pid).some(({ peerPort }) => ports.has(peerPort)),
    );
  }

  async function assertServed(): Promise<void> {
    const { ms } = await timed(() =>
      eventually(60_000, async () => {
        const { status } = await visit(relay.port, { host: hostOf(culvert.tunnel, relay) });
        assert.equal(status, 200);
      }),
    );
    console.log(`      served again after ${Math.round(ms)} ms`);
    assertWithin(ms, 2500);
  }

  /** @param methods used in turn. @returns once the service holds all requests */
  async function askAll(...methods: readonly ('GET' | 'POST')[]) {
    const all = await Promise.all(
      Array.from({ length: HELD }, (_, index) => ask(methods[index % methods.length] ?? 'GET')),
    );
    await eventually(60_000, () => assert.equal(held, HELD));
    return all;
  }

  async function ask(method: 'GET' | 'POST') {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: hostOf(culvert.tunnel, relay), target: '/held', method }));
    const status = visitor.response().then(
      (response) => response.status,
      () => 'broken',
    );
    return { method, socket: visitor.socket, status };
  }

  /** Begins something until none of it is on a data socket, which the client uses while its trunk is slow. */
  async function beginOnTrunk<T>(begin: () => Promise<T>): Promise<T> {
    return await eventually(60_000, async () => {
      go.resolve();
      go = Promise.withResolvers();
      held = 0;
      const begun = await begin();
      assert.equal(ofClient().length, 2);
      return begun;
    });
  }

  it('have their files, but for those of the one that is killed, if it has no connection of the client', async () => {
    const visitors = await beginOnTrunk(() => downloading('small'));
    const taken = workersWithClient();
    const victim = workersOf(relay.child.pid).find((pid) => !taken.includes(pid)) ?? assert.fail();
    const own = thoseOf(victim, visitors);
    process.kill(victim, 'SIGKILL');
    await assertServed();
    go.resolve();
    const { wrong, broken } = await tally(visitors);
    assert.deepEqual([wrong, broken], [[], own.map(({ name }) => name)]);
  });

  it('have whole files or broken ones, and answers to what may be sent again, if it has one', async () => {
    const { visitors, asked } = await beginOnTrunk(async () => {
      return { visitors: await downloading('small'), asked: await askAll('GET', 'POST') };
    });
    const [victim = assert.fail()] = workersWithClient();
    const own = new Set(thoseOf(victim, asked));
    process.kill(victim, 'SIGKILL');
    await assertServed();
    go.resolve();
    assert.deepEqual((await tally(visitors)).wrong, []);
    for (const one of asked)
      assert.equal(await one.status, own.has(one) ? 'broken' : one.method === 'GET' ? 200 : 502);
  });

  for (const [name, withWorker] of [
    ['the first process is', false],
    ['the first process and another one are', true],
  ] as const)
    it(`have no file that ends early, if ${name} killed`, async () => {
      const visitors = await downloading('large');
      const workers = workersOf(relay.child.pid);
      const [victim] = workers;
      assert.ok(victim !== undefined);
      const killedAt = performance.now();
      if (withWorker) process.kill(victim, 'SIGKILL');
      await relay.stop('SIGKILL');
      await Promise.all([
        relay.restart(),
        eventually(20_000, () => assert.deepEqual(workers.filter(isWorker), [])).then(() =>
          assertWithin(performance.now() - killedAt, 2000),
        ),
      ]);
      await assertServed();
      go.resolve();
      const { wrong, whole } = await tally(visitors);
      assert.deepEqual([wrong, whole], [[], []]);
    });

  it('have answers to what may be sent again, if it has data sockets of the client', async () => {
    await startRelay('0');
    const [withControl] = workersWithClient();
    const asked = await askAll('GET');
    const ports = new Set(ofClient().map(({ port }) => port));
    const sockets = (pid: number) => connectionsOf(pid).filter(({ peerPort }) => ports.has(peerPort)).length;
    const [victim = assert.fail()] = workersOf(relay.child.pid)
      .filter((pid) => pid !== withControl)
      .toSorted((a, b) => sockets(b) - sockets(a));
    const own = new Set(thoseOf(victim, asked));
    process.kill(victim, 'SIGKILL');
    await eventually(60_000, () => assert.ok(held > HELD, 'nothing was sent again'));
    await assertServed();
    go.resolve();
    for (const one of asked) assert.equal(await one.status, own.has(one) ? 'broken' : 200);
  });
});
