import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { checkScript } from '../../../shared/testing/script.ts';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { IDLE_ATTEMPT, FakeStream } from '../../testing/fake-stream.ts';
import {
  CERTIFICATE,
  CERTIFICATE_KEY,
  closedPort,
  closeServers,
  listen,
  startTcp,
} from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataHandler, DataSocket } from '../data/data-dialer.ts';
import { type FilterMaker, StreamFilter } from '../data/stream-filter.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { LocalExchange } from '../local/local-reuse.ts';
import { type LocalHandler, localPort } from '../local/local-service.ts';
import { textOf } from '../messages.ts';
import { Connections } from './connections.ts';
import { Bridge } from './visitor-connection.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n';

const answer = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/**
 * Visitors of a service that responds with the number of the connection and the data received on it so far.
 *
 * @param act called with each request; returns `false` if the service should not respond
 */
async function setUp(
  act: (socket: Socket, connection: number, text: string) => boolean = () => true,
  filters: readonly FilterMaker[] = [],
) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const handlers: DataHandler[] = [];
  const accepted: Socket[] = [];
  const port = await startTcp((socket) => {
    const number = accepted.push(socket);
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      if (act(socket, number, text)) socket.write(answer(`${number} ${text.split(' ')[0]}`));
    });
  });
  const connections = new Connections({
    data: {
      open: (_id, handler) => {
        handlers.push(handler);
        return IDLE_ATTEMPT;
      },
    },
    filters,
    local: new LocalDialer(localPort(port), deadlines),
    deadlines,
    onProblem: ({ text }) => assert.fail(textOf(text)),
  });
  /** Serves a visitor's request until the response has arrived; the test closes the stream. */
  async function visit(request: string): Promise<FakeStream> {
    const stream = new FakeStream();
    connections.acceptStream(stream, Buffer.from(request));
    await stream.until(({ sent, ended }) => sent !== '' || ended !== undefined);
    return stream;
  }
  return { connections, accepted, visit, clock, handlers };
}

const bodyOf = (stream: FakeStream): string | undefined => stream.sent.split('\r\n\r\n')[1];

describe('VisitorConnection', () => {
  afterEach(closeServers);

  it('reuses the local connection of the previous visitor', async () => {
    const { visit, connections } = await setUp();
    for (let round = 0; round < 3; round += 1) {
      const stream = await visit(GET);
      assert.equal(bodyOf(stream), '1 GET');
      stream.closeByRelay(1000);
      assert.deepEqual([connections.size, connections.idle], [0, 1]);
    }
    connections.cut();
    assert.equal(connections.idle, 0);
  });

  it('reports to filters how long the visitor waited, and each local connection', async () => {
    const told: string[] = [];
    class Watching extends StreamFilter {
      constructor(...[inner, waitedMs]: Parameters<FilterMaker>) {
        super(inner);
        told.push(`open after ${waitedMs} ms`);
      }
      override connected(): void {
        told.push('connected');
      }
    }
    const { visit, connections, clock, handlers } = await setUp(undefined, [
      (inner, waitedMs) => new Watching(inner, waitedMs),
    ]);
    clock.advance(1);
    connections.accept('announced');
    clock.advance(40);
    const stream = new FakeStream();
    handlers[0]?.opened(stream);
    stream.receive(GET);
    await stream.until(({ sent }) => sent !== '');
    assert.deepEqual(told.splice(0), ['open after 40 ms', 'connected']);
    stream.closeByRelay(1000);
    (await visit(GET)).closeByRelay(1000);
    assert.deepEqual(told, ['open after 0 ms', 'connected']);
    connections.cut();
  });

  it('does not dial in advance while an idle connection exists, and shares none that is in use', async () => {
    const { visit, connections, accepted } = await setUp();
    (await visit(GET)).closeByRelay(1000);
    connections.accept('next');
    assert.equal(bodyOf(await visit(GET)), '1 GET');
    assert.equal(accepted.length, 1);
    assert.equal(bodyOf(await visit(GET)), '2 GET');
    connections.cut();
  });

  for (const request of [
    `${POST}body`,
    GET.replace('\r\n\r\n', '\r\nAuthorization: NTLM x\r\n\r\n'),
    GET + GET,
  ])
    it(`gives ${JSON.stringify(request)} a new connection, and leaves the used one alone`, async () => {
      const { visit, connections } = await setUp();
      (await visit(GET)).closeByRelay(1000);
      const other = await visit(request);
      assert.match(bodyOf(other) ?? '', /^2 /);
      assert.equal(connections.idle, 1);
      other.closeByRelay(1000);
      assert.equal(connections.idle, 1);
      connections.cut();
    });

  it('keeps no connection of a visitor with a second request', async () => {
    const { visit, connections } = await setUp();
    const stream = await visit(GET);
    stream.receive(GET);
    await stream.until(({ sent }) => sent.split('HTTP/1.1').length === 3);
    stream.closeByRelay(1000);
    assert.equal(connections.idle, 0);
    connections.cut();
  });

  for (const [what, leave, sent, connection] of [
    ['ends', (socket) => socket.end(), answer('2 GET'), 2],
    ['resets', (socket) => socket.resetAndDestroy(), answer('2 GET'), 2],
    [
      'begins a response on',
      (socket) => socket.write('HTTP/1.1 2', () => setImmediate(() => socket.resetAndDestroy())),
      'HTTP/1.1 2',
      1,
    ],
  ] as const satisfies [string, (socket: Socket) => void, string, number][])
    it(`uses connection ${connection} when the service ${what} the used one instead of responding`, async () => {
      let requests = 0;
      const { visit, accepted } = await setUp((socket) => {
        requests += 1;
        if (requests === 2) leave(socket);
        return requests !== 2;
      });
      (await visit(GET)).closeByRelay(1000);
      const stream = await visit(GET);
      if (connection === 1) await stream.until(({ ended }) => ended !== undefined);
      assert.deepEqual([stream.sent, stream.ended], [sent, connection === 1 ? 1011 : undefined]);
      assert.deepEqual([requests, accepted.length], [connection + 1, connection]);
    });

  it('holds data that follows a request until the used connection has responded', async () => {
    const seen: string[] = [];
    let requests = 0;
    const { visit, connections } = await setUp((socket, number, text) => {
      requests += 1;
      seen.push(`${number} ${text}`);
      if (requests === 2) socket.end();
      return requests !== 2;
    });
    (await visit(GET)).closeByRelay(1000);
    const stream = new FakeStream();
    connections.acceptStream(stream, Buffer.from(GET));
    stream.receive(`${POST}body`);
    assert.ok(stream.paused);
    await stream.until(({ sent }) => sent !== '' && !stream.paused);
    connections.cut();
    // The unsafe part was sent only over the new connection.
    assert.deepEqual(
      seen.filter((entry) => entry.includes('POST')).map((entry) => entry[0]),
      ['2'],
    );
  });

  for (const [what, pieces, shown, problem] of [
    [
      'has stopped in the meantime',
      [GET.slice(0, 10), GET.slice(10)],
      /^HTTP\/1\.1 502 /,
      /^local-refused [^,]*$/,
    ],
    [
      'has refused TLS after the handshake',
      [GET],
      /^HTTP\/1\.1 502 .*\r\nCulvert-Error: local-refused\r\n.*TLS handshake/s,
      /^local-refused [^,]* refused the TLS handshake \(certificate required\)/,
    ],
  ] as const) {
    it(`tells the visitor and the owner that the service ${what}`, async () => {
      const options = { cert: CERTIFICATE, key: CERTIFICATE_KEY, requestCert: true };
      const isTls = what.includes('TLS');
      const port = isTls
        ? await listen(createServer(options).on('tlsClientError', () => {}))
        : await closedPort();
      const deadlines = new Deadlines(new FakeClock());
      const problems: string[] = [];
      const connections = new Connections({
        data: { open: () => IDLE_ATTEMPT },
        local: new LocalDialer({ ...localPort(port), https: isTls }, deadlines),
        deadlines,
        onProblem: ({ code, text }) => problems.push(`${code} ${textOf(text)}`),
      });
      const stream = new FakeStream();
      const [first, ...others] = pieces;
      connections.acceptStream(stream, Buffer.from(first));
      for (const piece of others) stream.receive(piece);
      await stream.until(({ ended }) => ended !== undefined);
      assert.match(stream.sent, shown);
      assert.match(problems.join(), problem);
      connections.cut();
      assert.deepEqual([connections.size, deadlines.size], [0, 0]);
    });
  }

  for (const code of [1000, 1001, 1006]) {
    it(`closes the local connection when the visitor leaves before the response with ${code}`, async () => {
      const { connections, accepted, visit } = await setUp(
        (_socket, _number, text) => !text.includes('/slow'),
      );
      (await visit(GET)).closeByRelay(1000);
      const stream = new FakeStream();
      connections.acceptStream(stream, Buffer.from(GET.replace('/', '/slow')));
      stream.closeByRelay(code);
      assert.deepEqual([connections.size, connections.idle], [0, 0]);
      await new Promise((resolve) => accepted[0]?.once('close', resolve).resume().end());
    });
  }
});

/** What the scripts call the bytes that pass. */
const BYTES: Readonly<Record<string, string>> = {
  GET,
  OK: answer('ok'),
  HALF: answer('ok').slice(0, -1),
  FORBIDDEN: 'HTTP/1.1 403 Forbidden\r\n\r\n',
};

/** A bridge between a data socket and a local connection, both of which the test plays. */
class PlayedBridge {
  readonly #clock = new FakeClock();
  readonly #deadlines = new Deadlines(this.#clock);
  #did: string[] = [];
  #relay: ByteStreamHandler | undefined;
  #service: LocalHandler | undefined;
  #inspections = 0;
  readonly #hasRoom = { relay: true, service: true };
  readonly #stream: DataSocket = {
    attach: (handler) => (this.#relay = handler),
    write: (chunk) => this.#take('relay', chunk),
    pause: () => this.#do('pause relay'),
    resume: () => this.#do('resume relay'),
    end: () => true,
    close: (code) => this.#do(`close relay ${code}`),
    destroy: () => this.#do('cut relay'),
    lookForEnd: () => this.#do('look'),
  };
  readonly #local = {
    isOpen: true,
    isQuiet: true,
    attach: (handler: LocalHandler) => void (this.#service = handler),
    write: (chunk: Buffer) => this.#take('service', chunk),
    pause: () => this.#do('pause service'),
    resume: () => this.#do('resume service'),
    end: () => this.#do('end service'),
    destroy: () => this.#do('cut service'),
  };

  #do(what: string): void {
    this.#did.push(what);
  }

  #take(who: 'relay' | 'service', chunk: Buffer): boolean {
    this.#do(`${who} gets ${nameOf(chunk)}`);
    return this.#hasRoom[who];
  }

  #start(request: Buffer | undefined): void {
    const exchange = request && LocalExchange.of(request);
    new Bridge(this.#stream, this.#local, exchange, this.#deadlines, {
      ended: () => this.#do('over'),
      released: () => this.#do('release service'),
      localFailed: ({ message }) => this.#do(`report ${message}`),
      unansweredBy: (sent, failure) =>
        this.#do(`no response to ${nameOf(sent)}, ${failure?.message ?? 'no reason'}`),
      inspect: (piece, sent) => {
        this.#do(`inspect ${nameOf(piece)}${sent === undefined ? '' : ` to ${nameOf(sent)}`}`);
        this.#inspections += 1;
        return this.#inspections < 2;
      },
    }).start(request);
  }

  /** @returns what the bridge has done, and whether it has a deadline */
  step(step: string): string {
    const [who = '', what = '', code] = step.split(' ');
    const bytes = Buffer.from(BYTES[what] ?? what);
    if (who.startsWith('+')) this.#clock.advance(Number(who.slice(1)));
    else if (who === 'start') this.#start(what === '' ? undefined : bytes);
    else if (what === 'closed') this.#local.isOpen = false;
    else if (what === 'full') this.#hasRoom[who === 'relay' ? 'relay' : 'service'] = false;
    else if (who === 'relay' && what === 'closes') this.#relay?.onStreamClose(Number(code));
    else if (who === 'relay' && what === 'drains') this.#relay?.onStreamDrain();
    else if (who === 'relay') this.#relay?.onStreamData(bytes);
    else if (what === 'drains') this.#service?.onLocalDrain();
    else if (what === 'ends') this.#service?.onLocalEnd();
    else if (what === 'closes') this.#service?.onLocalClose();
    else if (what === 'fails') this.#service?.onLocalClose(new Error('refused'));
    else this.#service?.onLocalData(bytes);
    return [...this.#did.splice(0), ...(this.#deadlines.size > 0 ? ['wait'] : [])].join(', ');
  }
}

function nameOf(bytes: Buffer): string {
  const text = bytes.toString();
  return Object.entries(BYTES).find(([, named]) => named === text)?.[0] ?? text;
}

const BEGUN = 'start GET: service gets GET; service OK: relay gets OK';
const BLOCKED = 'start; service full; relay x: service gets x, pause relay, wait';

describe('Bridge', () => {
  for (const [what, script] of Object.entries({
    'passes bytes both ways': 'start; relay x: service gets x; service OK: relay gets OK',
    'closes with 1000 when the service ends, and discards what it still sends': `
      start; service OK: relay gets OK; service ends: close relay 1000, end service, resume service, wait;
      service closes: over`,
    'closes with 1011 when the service resets': `
      start; service HALF: relay gets HALF; service closes: close relay 1011, over`,
    'ends the local connection when the relay closes cleanly': `
      start; relay x: service gets x; relay closes 1000: end service, resume service, wait;
      service ends: wait; service closes: over`,
    'disconnects a service that does not end within 1 s': `
      start; relay closes 1000: end service, resume service, wait; +749: wait; +251: cut service`,
    'stops reading from the service while the relay reads nothing': `
      start; relay full; service one: relay gets one, pause service; relay drains: resume service`,
    'stops reading from the relay while the service reads nothing': `
      ${BLOCKED}; service drains: resume relay`,
    'stops reading from the relay while the service reads nothing of the first request': `
      service full; start GET: service gets GET, pause relay, wait; service drains: resume relay`,
    'checks for its visitor after 10 s without room at the service, and every 500 ms from then on': `
      ${BLOCKED}; +9999: wait; +251: look, wait; +500: look, wait; +500: look, wait; service drains: resume relay`,
    'ends the connection to a service without room when its visitor has left': `
      ${BLOCKED}; relay closes 1000: end service, resume service, wait; service drains: wait; +1000: cut service;
      service closes: over`,
    'cuts the connection to a service without room when its visitor is gone': `
      ${BLOCKED}; relay closes 1006: cut service, wait; service closes: over`,
    'tells the relay if the service has closed before it starts': `
      service closed; start: cut service, close relay 1011, over`,
    'gives the request back if the service has closed before it starts': `
      service closed; start GET: cut service, no response to GET, no reason`,
    'releases the local connection after one complete exchange': `
      ${BEGUN}; relay closes 1000: release service`,
    'does not release it after a second request': `
      ${BEGUN}; relay GET: service gets GET; relay closes 1000: end service, resume service, wait`,
    'does not release it if the response is incomplete': `
      start GET: service gets GET; service HALF: relay gets HALF;
      relay closes 1000: end service, resume service, wait`,
    'does not release it if the service has ended it': `
      ${BEGUN}; service ends: close relay 1000, end service, resume service, wait; relay closes 1000: wait`,
    'gives the request back when the service ends without a response': `
      start GET: service gets GET; service ends: cut service; service closes: no response to GET, no reason`,
    'gives the request back when the service resets without a response': `
      start GET: service gets GET; service closes: no response to GET, no reason`,
    'gives the request back with the reason when the service refuses it': `
      start GET: service gets GET; service fails: no response to GET, refused`,
    'keeps the data socket when the service ends after another request': `
      ${BEGUN}; relay GET: service gets GET; service ends: close relay 1000, end service, resume service, wait;
      service closes: over`,
    'keeps the data socket when the service resets after another request': `
      ${BEGUN}; relay GET: service gets GET; service closes: close relay 1011, over`,
    'reports why the service refused another request': `
      ${BEGUN}; relay GET: service gets GET; service fails: close relay 1011, report refused, over`,
    'shows its owner responses with a 4xx status, and further pieces for as long as the owner asks': `
      ${BEGUN}; service FORBIDDEN: inspect FORBIDDEN, relay gets FORBIDDEN; service one: inspect one, relay gets one;
      service two: relay gets two`,
    'shows its owner a response without a head, with the request': `
      start GET: service gets GET; service Unauthorized: inspect Unauthorized to GET, relay gets Unauthorized;
      service more: inspect more, relay gets more; service more: relay gets more`,
  }))
    it(what, () => {
      const bridge = new PlayedBridge();
      checkScript(script, (step) => bridge.step(step));
    });

  for (const code of [1001, 1006, 1011, 4001])
    it(`cuts the local connection immediately when the stream breaks with ${code}`, () => {
      const bridge = new PlayedBridge();
      checkScript(`${BEGUN}; relay closes ${code}: cut service; service closes: over`, (step) =>
        bridge.step(step),
      );
    });
});
