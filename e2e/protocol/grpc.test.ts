import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Authority } from '../support/certificates.ts';
import { assertWithin } from '../support/deadline.ts';
import { concurrentTests } from '../support/scope.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { visit, WEBSOCKET } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { startGrpcService } from '../support/services/grpc.ts';
import { startHttpService } from '../support/services/listen.ts';

/** A gRPC service behind a tunnel, called over HTTP/1.1 with the messages of gRPC. */
describe('a local service that speaks HTTP/2', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  /** the host of a tunnel to a service that no test stops */
  let common: string;

  before(async () => {
    const { port } = await startGrpcService(scope);
    common = (await start(port, '--upstream', 'h2c')).host;
  });

  const together = concurrentTests();

  async function start(port: number, ...args: string[]): Promise<{ culvert: Culvert; host: string }> {
    const { key } = await pool.take();
    const culvert = await Culvert.start(scope, relay, key, port, args);
    return { culvert, host: hostOf(culvert.tunnel, relay) };
  }

  const call = (host: string, method: string, headers: Record<string, string> = {}): Call =>
    new Call(relay.port, host, method, headers);

  for (const upstream of ['h2c', 'h2'] as const)
    together(`is called with --upstream ${upstream}`, async () => {
      const { cert, key } = new Authority(scope).issue();
      const tls = { cert_chain: readFileSync(cert), private_key: readFileSync(key) };
      const service = await startGrpcService(scope, upstream === 'h2' ? tls : undefined);
      const { host } = await start(service.port, '--upstream', upstream);
      const unary = call(host, 'Unary', { 'grpc-timeout': '20S', 'x-mine': 'a' });
      unary.send('hello');
      unary.end();
      assert.deepEqual(await unary.result(), { messages: ['hello'], status: '0', end: 'reached' });
      assert.deepEqual(service.metadata?.get('x-mine'), ['a']);
    });

  together('is called with client, server and bidirectional streams', async () => {
    const fromClient = call(common, 'ClientStream');
    for (const piece of ['a', 'b', 'c']) fromClient.send(piece);
    fromClient.end();
    assert.deepEqual(await fromClient.result(), { messages: ['abc'], status: '0', end: 'reached' });

    const fromServer = call(common, 'ServerStream');
    fromServer.send('xyz');
    fromServer.end();
    assert.deepEqual(await fromServer.result(), { messages: ['x', 'y', 'z'], status: '0', end: 'reached' });

    const both = call(common, 'Both');
    for (const piece of ['one', 'two']) {
      both.send(piece);
      assert.equal(await both.next(), piece);
    }
    both.end();
    assert.deepEqual(await both.result(), { messages: ['one', 'two'], status: '0', end: 'reached' });
  });

  together('reports errors in trailers, and in a head without a body', async () => {
    const late = call(common, 'ServerStream');
    late.send('a!');
    late.end();
    assert.deepEqual(await late.result(), { messages: ['a', '!'], status: '3', end: undefined });

    for (const [method, message, status] of [
      ['Unary', 'fail', '3'],
      ['Missing', 'x', '12'],
    ] as const) {
      const failed = call(common, method);
      failed.send(message);
      failed.end();
      const { headers, trailers } = await failed.response();
      assert.deepEqual([headers['grpc-status'], headers['content-length'], trailers], [status, '0', {}]);
    }
  });

  together('is told within a second that a visitor has left', async () => {
    const service = await startGrpcService(scope);
    const { host } = await start(service.port, '--upstream', 'h2c');
    for (const [method, message] of [
      ['Unary', 'wait'],
      ['ServerStream', 'ab…'],
      ['Both', 'x'],
    ] as const) {
      const left = call(host, method);
      left.send(message);
      if (method !== 'Both') left.end();
      if (method !== 'Unary') await left.next();
      else await service.waiting;
      const cancelled = service.nextCancelled();
      const before = performance.now();
      left.leave();
      assert.equal(await cancelled, method);
      assertWithin(performance.now() - before, 1000);
    }
  });

  together('breaks a response off, never completes it, when it stops', async () => {
    const service = await startGrpcService(scope);
    const { host } = await start(service.port, '--upstream', 'h2c');
    const cut = call(host, 'ServerStream');
    cut.send('ab…');
    cut.end();
    await cut.next();
    const before = performance.now();
    service.stop();
    await cut.brokenOff();
    assertWithin(performance.now() - before, 1000);
  });

  together('is reported if it does not speak HTTP/2', async () => {
    const { port } = await startHttpService(scope, (_request, response) => response.end('x'));
    const { host, culvert } = await start(port, '--upstream', 'h2c');
    const problem = culvert.nextEvent('problem');
    const answer = await visit(relay.port, { host });
    assert.deepEqual([answer.status, answer.head.field('culvert-error')], [502, 'local-not-http2']);
    assert.match(JSON.stringify(await problem), /local-not-http2.*--upstream h2c/);
  });

  together('gets no WebSockets', async () => {
    const answer = await visit(relay.port, { host: common, headers: WEBSOCKET });
    assert.deepEqual([answer.status, answer.head.field('culvert-error')], [502, 'local-no-websocket']);
  });
});

interface CallResult {
  readonly messages: readonly string[];
  readonly status: string | undefined;
  readonly end: string | undefined;
}

/** One call, with the framing of gRPC over HTTP/1.1. */
class Call {
  readonly #request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #messages: string[] = [];
  #seen = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #onMessage = (): void => {};

  constructor(port: number, host: string, method: string, headers: Record<string, string>) {
    this.#request = request({
      port,
      method: 'POST',
      path: `/test.Echo/${method}`,
      agent: false,
      headers: { host, te: 'trailers', 'content-type': 'application/grpc', ...headers },
    });
    this.#request.on('error', () => {});
    this.#request.flushHeaders();
    this.#response = once(this.#request, 'response').then(([response]: IncomingMessage[]) => {
      if (response === undefined) throw new Error('no response');
      response.on('data', (piece: Buffer) => this.#take(piece));
      response.on('end', () => this.#ended.resolve());
      response.on('error', () => {});
      return response;
    });
    this.#response.catch(() => {});
  }

  send(message: string): void {
    const frame = Buffer.concat([Buffer.alloc(5), Buffer.from(message)]);
    frame.writeUInt32BE(frame.length - 5, 1);
    this.#request.write(frame);
  }

  end(): void {
    this.#request.end();
  }

  /** With a reset: the relay still waits for the response if the connection ends otherwise. */
  leave(): void {
    this.#request.socket?.resetAndDestroy();
  }

  /** Waits for the next message. */
  async next(): Promise<string> {
    while (this.#messages.length === this.#seen)
      await new Promise<void>((resolve) => (this.#onMessage = resolve));
    this.#seen += 1;
    return this.#messages[this.#seen - 1] ?? '';
  }

  /** The response, once it is complete. */
  async response(): Promise<IncomingMessage> {
    const response = await this.#response;
    await this.#ended.promise;
    return response;
  }

  /** Waits until the response ends before it is complete. */
  async brokenOff(): Promise<void> {
    const response = await this.#response;
    if (!response.closed) await new Promise((resolve) => response.once('close', resolve));
    assert.equal(response.complete, false);
  }

  async result(): Promise<CallResult> {
    const { trailers } = await this.response();
    return { messages: this.#messages, status: trailers['grpc-status'], end: trailers['x-end'] };
  }

  #take(piece: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
    while (this.#bytes.length >= 5) {
      const end = 5 + this.#bytes.readUInt32BE(1);
      if (this.#bytes.length < end) return;
      this.#messages.push(this.#bytes.toString('utf8', 5, end));
      this.#bytes = this.#bytes.subarray(end);
      this.#onMessage();
    }
  }
}
