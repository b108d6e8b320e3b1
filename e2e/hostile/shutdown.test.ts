import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually, within } from '../support/deadline.ts';
import { Load } from '../support/load.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, type Response } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

const REQUESTS_PER_SECOND = 500;
const VISITORS = 50;
const LISTENERS = 50;

interface Stage extends HttpService {
  /** unfinished responses of `/events` */
  readonly listeners: Set<ServerResponse>;
}

/** Responds immediately; `/events` streams until it is ended; every WebSocket is echoed. */
async function startStage(scope: Scope): Promise<Stage> {
  const listeners = new Set<ServerResponse>();
  const service = await startHttpService(scope, (request, response) => {
    if (request.url !== '/events') return void request.resume().on('end', () => response.end('ok'));
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    listeners.add(response);
    response.once('close', () => listeners.delete(response));
  });
  const sockets = new WebSocketServer({ server: service.server });
  scope.defer(() => sockets.close());
  sockets.on('connection', (socket) => {
    socket.on('error', () => socket.terminate());
    socket.on('message', (message: Buffer) => socket.send(message));
  });
  return Object.assign(service, { listeners });
}

/** A visitor's WebSocket that sends continuously, and counts the echoes. */
class Talker {
  readonly socket: WebSocket;
  readonly closed = Promise.withResolvers<number>();
  said = 0;
  heard = 0;

  constructor(scope: Scope, port: number, host: string) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, { headers: { Host: host } });
    scope.defer(() => this.socket.terminate());
    this.socket.on('error', () => this.socket.terminate());
    this.socket.on('message', () => (this.heard += 1));
    this.socket.once('close', (code) => this.closed.resolve(code));
  }

  say(): void {
    this.said += 1;
    this.socket.send('something');
  }
}

/** Opens an event stream and collects it to its end. */
async function listen(scope: Scope, port: number, host: string): Promise<{ answer: Promise<Response> }> {
  const connection = await RawConnection.open(scope, port, 60_000);
  await connection.write(formatRequest({ host, target: '/events' }));
  const head = await connection.finalHead();
  const answer = connection.rest(head);
  answer.catch(() => undefined);
  return { answer };
}

/**
 * In flight is every request on a connection that its visitor saw open before the signal was sent, and every stream and
 * WebSocket that was open then. Such a connection stays valid until a response contains `Connection: close`. Later
 * requests may be refused, by the system or with a complete 503, but never answered in part.
 */
describe('SIGTERM under load', () => {
  const scope = suiteScope();

  it(`${REQUESTS_PER_SECOND} requests/s, ${LISTENERS} event streams, ${LISTENERS} WebSockets: none in flight fails`, async () => {
    const relay = await Relay.start(scope);
    const stage = await startStage(scope);
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, stage.port);
    const host = hostOf(culvert.tunnel, relay);
    const { port } = relay;
    const streams = await Promise.all(Array.from({ length: LISTENERS }, () => listen(scope, port, host)));
    const talkers = Array.from({ length: LISTENERS }, () => new Talker(scope, port, host));
    await eventually(20_000, () =>
      assert.ok(talkers.every(({ socket }) => socket.readyState === WebSocket.OPEN)),
    );

    let events = 0;
    const talk = (): void => {
      events += 1;
      for (const response of stage.listeners) response.write(`data: ${events}\n\n`);
      for (const talker of talkers) talker.say();
    };
    const talking = setInterval(talk, 200);
    scope.defer(() => clearInterval(talking));

    let next = 0;
    const load = new Load(port, REQUESTS_PER_SECOND, VISITORS, (): Request => {
      next += 1;
      return next % 4 === 0
        ? { host, method: 'POST', target: `/${next}`, body: 'x' }
        : { host, target: `/${next}` };
    });
    await delay(3000);
    // A busy machine gets less done. Every visitor must have been served more than once.
    await eventually(60_000, () => assert.ok(load.asked.length > VISITORS * 4, 'too few requests'));
    const before = load.asked.length;
    load.mark();
    const signalled = performance.now();
    relay.child.kill('SIGTERM');
    await delay(3000);
    await load.stop();
    clearInterval(talking);
    assert.equal(relay.child.hasExited, false, 'it waits for the open streams');

    for (const response of stage.listeners) response.end('data: the end\n\n');
    for (const { answer } of streams) {
      const { text } = await within(20_000, 'end of an event stream', answer);
      assert.equal(text.split('data: ').length - 1, events + 1, 'an event was lost');
      assert.match(text, /data: the end\n\n$/);
    }
    for (const talker of talkers) {
      await eventually(20_000, () => assert.equal(talker.heard, talker.said));
      talker.socket.close(1000);
      assert.equal(await within(20_000, 'end of a WebSocket', talker.closed.promise), 1000);
    }
    assert.deepEqual(await relay.child.exit(), { code: 0, signal: null });
    const tookMs = performance.now() - signalled;

    const inFlight = load.asked.filter((asked) => asked.inFlight);
    const failed = inFlight.filter(({ outcome }) => outcome instanceof Error || outcome.status !== 200);
    const late = load.asked.filter((asked) => !asked.inFlight).map(({ outcome }) => describeLate(outcome));
    console.log(
      `      ${before} requests before, ${inFlight.length} in flight or before, ${failed.length} of them failed; ` +
        `later: ${tally(late)}; exit after ${Math.round(tookMs)} ms`,
    );
    assert.deepEqual(
      failed.map(({ outcome }) => (outcome instanceof Error ? outcome.message : outcome.status)),
      [],
    );
    assert.deepEqual(
      late.filter((what) => !['served', 'turned away', 'refused'].includes(what)),
      [],
    );
    assert.ok(tookMs < 30_000, `${tookMs} ms: it has cut what was open`);
  });
});

/**
 * What happened to a request that was not in flight. A connection that the system accepted and the relay did not read
 * is refused with a reset, one whose request arrived too late ends before any response. Either way it can be sent
 * again.
 */
function describeLate(outcome: Response | Error): string {
  if (outcome instanceof Error)
    return /ECONNREFUSED|ECONNRESET|ended by reset|ended within ""/.test(String(outcome))
      ? 'refused'
      : String(outcome);
  if (outcome.status === 200) return 'served';
  return outcome.status === 503 && outcome.head.field('retry-after') !== undefined
    ? 'turned away'
    : String(outcome.status);
}

function tally(things: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const thing of things) counts.set(thing, (counts.get(thing) ?? 0) + 1);
  return [...counts].map(([thing, count]) => `${count} ${thing}`).join(', ') || 'none';
}
