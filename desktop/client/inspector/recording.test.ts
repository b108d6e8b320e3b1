import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ConnectionRecording } from './recording.ts';
import { RequestLog } from './request-log.ts';

const GET = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED =
  'PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CHUNKED_OK = 'HTTP/1.1 201 Created\r\ntransfer-encoding: gzip, Chunked \r\n\r\n2\r\nok\r\n0\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\n\r\n';

/** The log of a conversation, oldest request first: `>` to the local service, `<` to the visitor. */
function record(conversation: readonly string[], ending: 'open' | 'clean' | 'broken' = 'open'): string[] {
  const log = new RequestLog(new FakeClock());
  const recording = log.open();
  for (const part of conversation) {
    const bytes = Buffer.from(part.slice(1), 'latin1');
    if (part.startsWith('>')) recording.toLocal(bytes);
    else recording.toVisitor(bytes);
    bytes.fill(0);
  }
  if (ending !== 'open') recording.end(ending === 'broken');
  return log
    .list()
    .toReversed()
    .map(({ method, target, status, durationMs, bytesIn, bytesOut, isBroken }) => {
      const state = durationMs === undefined ? 'open' : isBroken ? 'broken' : 'done';
      return `${method} ${target} ${status ?? '-'} ${bytesIn}/${bytesOut} ${state}`;
    });
}

describe('a recorded connection', () => {
  it('is split into its requests, each with its response and exact bytes', () => {
    assert.deepEqual(
      record([`>${GET}`, `<${OK}`, `>${POST}`, `<${EMPTY}`, `>${CHUNKED}`, `<${CHUNKED_OK}`]),
      [
        `GET /a 200 ${GET.length}/${OK.length} done`,
        `POST /b 204 ${POST.length}/${EMPTY.length} done`,
        `PUT /c 201 ${CHUNKED.length}/${CHUNKED_OK.length} done`,
      ],
    );
  });

  it('is split the same in pieces of any size', () => {
    const conversation = [`>${POST}`, `<${CHUNKED_OK}`, `>${CHUNKED}`, `<${OK}`, `>${GET}`, `<${EMPTY}`];
    const whole = record(conversation);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }), (sizes) => {
        const pieces = conversation.flatMap((part) => {
          const parts: string[] = [];
          for (let at = 1, next = 0; at < part.length; next++) {
            const size = sizes[next % sizes.length] ?? 1;
            parts.push(`${part.charAt(0)}${part.slice(at, at + size)}`);
            at += size;
          }
          return parts;
        });
        assert.deepEqual(record(pieces), whole);
      }),
      { numRuns: 50 },
    );
  });

  it('expects no body for HEAD, 204 and 304', () => {
    const notModified = 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n';
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
    assert.deepEqual(
      record(['>HEAD / HTTP/1.1\r\n\r\n', `<${head}`, `>${GET}`, `<${notModified}`]).map((line) =>
        line.slice(-4),
      ),
      ['done', 'done'],
    );
  });

  it('skips informational responses, and accepts a body after them', () => {
    const [head, body] = [POST.slice(0, -5), POST.slice(-5)];
    assert.deepEqual(record([`>${head}`, '<HTTP/1.1 100 Continue\r\n\r\n', `>${body}`, `<${OK}`]), [
      `POST /b 200 ${POST.length}/${25 + OK.length} done`,
    ]);
  });

  it('counts the rest of a request as part of it after an early response', () => {
    const [head, body] = [POST.slice(0, -5), POST.slice(-5)];
    assert.deepEqual(record([`>${head}`, `<${OK}`, `>${body}`, `>${GET}`]), [
      `POST /b 200 ${POST.length}/${OK.length} done`,
      `GET /a - ${GET.length}/0 open`,
    ]);
  });

  it('is one exchange after a 101, in both directions, until its end', () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';
    const conversation = [`>${GET}`, `<${upgrade}GET / `, `>${GET}`, `<${OK}`];
    assert.deepEqual(record(conversation), [
      `GET /a 101 ${2 * GET.length}/${upgrade.length + 6 + OK.length} open`,
    ]);
    assert.match(record(conversation, 'clean').join(), / 101 .* done$/);
  });

  it('ends a response without a length with the connection, cleanly or not', () => {
    const until = 'HTTP/1.1 200 OK\r\n\r\nsome';
    assert.match(record([`>${GET}`, `<${until}`]).join(), /open$/);
    assert.match(record([`>${GET}`, `<${until}`], 'clean').join(), /done$/);
    assert.match(record([`>${GET}`, `<${until}`], 'broken').join(), /broken$/);
  });

  it('marks a response that ends early or never comes as broken', () => {
    assert.match(record([`>${GET}`, `<${OK.slice(0, -1)}`], 'clean').join(), / 200 .*broken$/);
    assert.match(record([`>${GET}`], 'clean').join(), / - .*broken$/);
    assert.match(record([`>${GET}`, `<${OK}`], 'broken').join(), /done$/);
  });

  it('counts the rest as one exchange if messages cannot be parsed', () => {
    const broken = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n';
    assert.equal(record([`>${GET}`, `<${broken}`, `>${GET}`, `<${OK}`], 'clean').length, 1);
    assert.equal(record([`>${GET}${GET}`, `<${OK}${OK}`], 'clean').length, 1);
    const endless = `>${'x'.repeat(70_000)}`;
    assert.equal(record([endless, endless], 'clean').length, 1);
  });

  it('records nothing without a request', () => {
    assert.deepEqual(record([`<${OK}`], 'broken'), []);
  });

  it('breaks down the time of a request, from its first byte', () => {
    const clock = new FakeClock();
    const log = new RequestLog(clock);
    const recording = log.open(30);
    recording.toLocal(Buffer.from(POST.slice(0, 9)));
    clock.advance(2);
    recording.connected();
    recording.toLocal(Buffer.from(POST.slice(9)));
    assert.deepEqual(log.detail(1)?.timing, { waitedMs: 30, connectedMs: 2, answeredMs: undefined });
    clock.advance(5);
    recording.toVisitor(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'));
    clock.advance(5);
    recording.toVisitor(Buffer.from(OK.slice(0, -1)));
    clock.advance(7);
    recording.toVisitor(Buffer.from(OK.slice(-1)));
    assert.deepEqual(log.detail(1)?.timing, { waitedMs: 30, connectedMs: 2, answeredMs: 12 });
    assert.equal(log.detail(1)?.durationMs, 19);
  });

  it('already has a data socket and a local connection for the next request', () => {
    const clock = new FakeClock();
    const log = new RequestLog(clock);
    const recording = log.open(30);
    recording.connected();
    for (const part of [GET, POST]) {
      recording.toLocal(Buffer.from(part));
      clock.advance(4);
      recording.toVisitor(Buffer.from(OK));
    }
    assert.deepEqual(log.detail(1)?.timing, { waitedMs: 30, connectedMs: 0, answeredMs: 4 });
    assert.deepEqual(log.detail(2)?.timing, { waitedMs: 0, connectedMs: 0, answeredMs: 4 });
  });

  it('belongs to the request that it repeats', () => {
    const log = new RequestLog();
    new ConnectionRecording(log, { replayOf: 7 }).toLocal(Buffer.from(GET));
    assert.equal(log.list()[0]?.replayOf, 7);
  });
});
