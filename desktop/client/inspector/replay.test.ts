import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { text } from 'node:stream/consumers';
import { FakeClock } from '../../testing/fake-clock.ts';
import { closedPort, closeServers, listen, startHttp } from '../../testing/servers.ts';
import { Deadlines, systemClock } from '../clock.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort, type LocalTarget } from '../local/local-service.ts';
import { EditRefused } from './edit.ts';
import { addImported } from './import-text.ts';
import { Replayer, ReplayRefused, REPLAY_TIMEOUT_MS, REPLAYS_MAX } from './replay.ts';
import { RequestLog } from './request-log.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const GET = 'GET /x HTTP/1.1\r\nHost: demo.example.com\r\n\r\n';

function record(log: RequestLog, request: string, response = OK): void {
  const recording = log.open();
  recording.toLocal(Buffer.from(request));
  recording.toVisitor(Buffer.from(response));
}

function logOf(...requests: readonly string[]): RequestLog {
  const log = new RequestLog();
  for (const request of requests) record(log, request);
  return log;
}

function refusal(code: ReplayRefused['code']): (error: unknown) => boolean {
  return (error) => error instanceof ReplayRefused && error.code === code;
}

function replayer(
  log: RequestLog,
  target: Partial<LocalTarget>,
  clock: FakeClock | typeof systemClock = systemClock,
): Replayer {
  const deadlines = new Deadlines(clock);
  return new Replayer(log, new LocalDialer({ ...localPort(1), ...target }, deadlines), deadlines);
}

function imported(target: string, fields: readonly (readonly [string, string])[]): RequestLog {
  const log = new RequestLog();
  const request = { method: 'POST', target, fields, body: Buffer.from('{}'), isCut: false };
  addImported(log, { ...request, response: undefined }, 'localhost');
  return log;
}

function refuseAll(): void {
  assert.fail('a placeholder must not reach the service');
}

function fill(request: Buffer): Buffer {
  return Buffer.from(request.toString('latin1').replace('[redacted]', 't=1'), 'latin1');
}

const serve = async (listener: RequestListener): Promise<number> => (await startHttp(listener)).port;

/** A service that responds with 201, and the requests that it has received. */
async function serveSeen(): Promise<{ port: number; seen: unknown[] }> {
  const seen: unknown[] = [];
  const answer = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    seen.push([request.method, request.url, request.rawHeaders, await text(request)]);
    response.writeHead(201).end('made');
  };
  const port = await serve((...exchange) => void answer(...exchange));
  return { port, seen };
}

const PUT =
  'PUT /x?token=1 HTTP/1.1\r\nHost: demo.example.com\r\nAuthorization: Bearer abc\r\n' +
  'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';

describe('a repeated request', () => {
  afterEach(closeServers);

  it('is sent to a service that speaks HTTP/2', async () => {
    const server = createHttp2Server((request, response) =>
      response.end(`${request.httpVersion} ${request.url}`),
    );
    const port = await listen(server);
    const log = logOf(GET);
    assert.equal(await replayer(log, { port, upstream: 'h2c' }).replay(1), 2);
    server.close();
    const { response } = log.detail(2) ?? {};
    assert.match(String(response?.body && Buffer.from(response.body)), /2\.0 \/x/);
  });

  it('is refused with the reason if the service cannot be reached, or nothing listens', async () => {
    const port = await serve((_request, response) => response.end());
    await assert.rejects(
      replayer(logOf(GET), { port, https: true }).replay(1),
      /^ReplayRefused: Cannot connect to port \d+: it does not speak TLS\.$/,
    );
    const closed = { port: await closedPort() };
    await assert.rejects(replayer(logOf(GET), closed).replay(1), refusal('local-refused'));
  });

  describe('imported without its secrets', () => {
    for (const [where, target, fields] of [
      ['a header', '/', [['Authorization', 'Bearer [redacted]']]],
      ['a header of any kind', '/', [['Authorization', 'Custom id=[redacted]']]],
      ['its address', '/?token=[redacted]', []],
      ['its encoded address', '/?token=%5bredacted%5D', []],
    ] as const) {
      it(`is not sent with the placeholder in ${where}, also after an edit that leaves it there`, async () => {
        const log = imported(target, fields);
        const tries = replayer(log, { port: await serve(refuseAll) });
        await assert.rejects(tries.replay(1), refusal('redacted'));
        const edit = { method: 'PUT', target, fields, body: undefined };
        const part = fields.length > 0 ? 'fields.0.value' : 'target';
        await assert.rejects(
          tries.replayEdited(1, edit),
          (error) => error instanceof EditRefused && error.problems[0]?.part === part,
        );
        assert.equal(log.list().length, 1);
      });
    }

    it('is sent once the secret is filled in, and once it is signed again', async () => {
      const seen: unknown[] = [];
      const port = await serve(({ headers }, response) => {
        seen.push(headers['stripe-signature']);
        response.end();
      });
      const log = imported('/', [['Stripe-Signature', '[redacted]']]);
      const tries = replayer(log, { port });
      await tries.replay(1, fill);
      const edit = { method: 'POST', target: '/', body: undefined };
      await tries.replayEdited(1, { ...edit, fields: [['Stripe-Signature', '[redacted]']] }, fill);
      await tries.replayEdited(1, { ...edit, fields: [['Stripe-Signature', 't=2']] });
      assert.deepEqual(seen, ['t=1', 't=1', 't=2']);
    });

    it('may have the placeholder in its body, which is recorded as it is', async () => {
      const log = new RequestLog();
      const body = Buffer.from('[redacted]');
      const request = { method: 'POST', target: '/', fields: [], body, isCut: false, response: undefined };
      addImported(log, request, 'localhost');
      const port = await serve((_, response) => response.end());
      assert.equal(await replayer(log, { port }).replay(1), 2);
    });
  });

  it('is sent unchanged, including secrets, and recorded as the repetition', async () => {
    const { port, seen } = await serveSeen();
    const log = logOf(PUT);
    assert.equal(await replayer(log, { port }).replay(1), 2);
    const headers = 'Host|demo.example.com|Authorization|Bearer abc|Transfer-Encoding|chunked'.split('|');
    assert.deepEqual(seen, [['PUT', '/x?token=1', headers, 'hi']]);
    const detail = log.detail(2);
    assert.deepEqual([detail?.replayOf, detail?.status, detail?.isBroken], [1, 201, false]);
    assert.equal(Buffer.from(detail?.response?.body ?? []).toString(), 'made');
  });

  it('is sent as edited, with its original body and secrets if they were not changed', async () => {
    const { port, seen } = await serveSeen();
    const log = logOf(PUT);
    const target = '/y?token=[redacted]';
    const edit = { method: 'PATCH', target, fields: [['X', '1']] as const, body: undefined };
    assert.equal(await replayer(log, { port }).replayEdited(1, edit), 2);
    const headers = ['Host', 'demo.example.com', 'X', '1', 'Content-Length', '2'];
    assert.deepEqual(seen, [['PATCH', '/y?token=1', headers, 'hi']]);
    assert.deepEqual([log.detail(2)?.replayOf, log.detail(2)?.status], [1, 201]);
    await replayer(log, { port }).replayEdited(1, edit, (request) =>
      Buffer.from(request.toString('latin1').replace('X: 1', 'X: 2'), 'latin1'),
    );
    assert.deepEqual(seen[1], ['PATCH', '/y?token=1', headers.with(3, '2'), 'hi']);
    await assert.rejects(replayer(log, { port }).replayEdited(1, { ...edit, method: '' }), EditRefused);
  });

  const plain = { method: 'GET', target: '/', fields: [], body: undefined };
  for (const [how, part, send] of [
    [
      'as it was',
      'POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf',
      (it: Replayer, id: number) => it.replay(id),
    ],
    ['as edited', 'GET / HT', (it: Replayer, id: number) => it.replayEdited(id, plain)],
  ] as const) {
    it(`is rejected with a reason if it cannot be sent ${how}`, async () => {
      const upgrade = 'GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n';
      const log = new RequestLog();
      for (const [request, response] of [
        [`POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`, OK],
        [upgrade, 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
        [part, OK],
      ] as const)
        record(log, request, response);
      const before = log.list().length;
      const codes = ['truncated', 'not-repeatable', 'incomplete', 'unknown-request'] as const;
      for (const [at, code] of codes.entries())
        await assert.rejects(send(replayer(log, {}), at + 1), refusal(code));
      assert.equal(log.list().length, before);
    });
  }

  it('is broken when the response breaks off, or takes more than 60 s', async () => {
    const clock = new FakeClock();
    const asked = Promise.withResolvers<void>();
    const port = await serve((request, response) => {
      if (request.url === '/cut') {
        response.writeHead(200, { 'Content-Length': 9 }).write('half');
        response.socket?.end();
      } else asked.resolve();
    });
    const log = logOf(GET.replace('/x', '/cut'), GET);
    const replays = replayer(log, { port }, clock);
    const cut = log.detail(await replays.replay(1));
    assert.deepEqual([cut?.status, cut?.isBroken], [200, true]);
    const hanging = replays.replay(2);
    await asked.promise;
    clock.advance(REPLAY_TIMEOUT_MS + 1000);
    const hang = log.detail(await hanging);
    assert.deepEqual([hang?.status, hang?.isBroken], [undefined, true]);
  });

  it('is one of at most 8 at a time; the ninth is rejected', async () => {
    const clock = new FakeClock();
    let asked = 0;
    const all = Promise.withResolvers<void>();
    const port = await serve(() => {
      asked += 1;
      if (asked === REPLAYS_MAX) all.resolve();
    });
    const replays = replayer(logOf(GET), { port }, clock);
    const running = Array.from({ length: REPLAYS_MAX }, () => replays.replay(1));
    await assert.rejects(replays.replay(1), refusal('too-many-replays'));
    await all.promise;
    clock.advance(REPLAY_TIMEOUT_MS + 1000);
    assert.equal((await Promise.all(running)).length, REPLAYS_MAX);
  });
});
