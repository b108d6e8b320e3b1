import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  LOG_START,
  type RequestSummary,
  RECORDED_BODY_MAX_BYTES,
  RECORDED_BODY_MIN_BYTES,
} from './records.ts';
import {
  LOG_PART_MAX,
  Pulse,
  RequestLog,
  SPARKLINE_SECONDS,
  RECORDED_BYTES_MAX,
  RECORDED_REQUESTS_MAX,
} from './request-log.ts';
import { LogSearch } from './search.ts';
import { KEPT_BODY_MAX_BYTES } from '../config/tunnel-spec.ts';
import { RECORDED_HEAD_MAX_BYTES } from './recording.ts';
import { RECORDED_TARGET_MAX_CHARS } from './exchange.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: sid=abc; HttpOnly\r\n\r\nok';

function post(target: string, body = Buffer.alloc(0), fields = ''): Buffer {
  const head = `POST ${target} HTTP/1.1\r\nContent-Length: ${body.length}\r\n${fields}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

const device = (agent: string) => `x-forwarded-for: 203.0.113.7 \r\nUSER-AGENT:\t${agent}\r\n`;

function exchange(log: RequestLog, bytes: Buffer, response: string | Buffer = OK): void {
  const recording = log.open();
  recording.toLocal(bytes);
  recording.toVisitor(Buffer.from(response));
  recording.end(false);
}

/** A log with so many requests, none of which has a response yet: each is one change. */
function hidable(count: number) {
  const log = new RequestLog();
  const add = (): void => log.open().toLocal(Buffer.from('GET /x HTTP/1.1\r\nHost: a\r\n\r\n'));
  for (let n = 0; n < count; n += 1) add();
  return { log, add, ids: () => log.list().map(({ id }) => id) };
}

describe('the request log', () => {
  it('keeps the last 200 requests, newest first', () => {
    const log = new RequestLog();
    const open = log.open();
    open.toLocal(post('/0'));
    for (let n = 1; n <= 250; n++) exchange(log, post(`/${n}`));
    open.toVisitor(Buffer.from(OK));
    open.end(false);
    const targets = log.list().map(({ target }) => target);
    assert.equal(targets.length, RECORDED_REQUESTS_MAX);
    assert.deepEqual([targets[0], targets.at(-1)], ['/250', '/51']);
    assert.deepEqual(
      log.list({ reveal: false }, 2).map(({ id }) => id),
      [251, 250],
    );
    assert.equal(log.detail(1), undefined);
    assert.equal(log.detail(51), undefined);
    assert.equal(log.detail(52)?.target, '/51');
  });

  it('uses at most the memory of 200 times two heads and bodies, and releases it', () => {
    const log = new RequestLog(undefined, undefined, () => RECORDED_BODY_MIN_BYTES);
    const body = Buffer.alloc(100 * 1024);
    const field = `X-Long: ${'x'.repeat(60_000)}\r\n`;
    const response = `HTTP/1.1 200 OK\r\n${field}Content-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
    const [large, largeResponse] = [post('/', body, field), Buffer.from(response, 'latin1')];
    for (let n = 0; n < 250; n++) exchange(log, large, largeResponse);
    const max = RECORDED_REQUESTS_MAX * 2 * (RECORDED_HEAD_MAX_BYTES + RECORDED_BODY_MIN_BYTES);
    assert.ok(log.capturedBytes > max / 2);
    assert.ok(log.capturedBytes <= max, `${log.capturedBytes} bytes`);
    for (let n = 0; n < 200; n++) exchange(log, post('/'));
    assert.ok(log.capturedBytes <= 200 * 2 * 4096, `${log.capturedBytes} bytes`);
    log.clear();
    assert.equal(log.capturedBytes, 0);
    assert.deepEqual(log.list(), []);
  });

  it('keeps the configured number of requests, but drops the oldest messages beyond 50 MiB', () => {
    const log = new RequestLog(undefined, 1000);
    const body = Buffer.alloc(RECORDED_BODY_MAX_BYTES);
    const target = `/${'a'.repeat(2 * RECORDED_TARGET_MAX_CHARS)}`;
    for (let n = 1; n <= 1100; n++)
      exchange(log, post(`${target}?n=${n}`, body, 'Stripe-Signature: t=1\r\n'));
    assert.ok(log.capturedBytes <= RECORDED_BYTES_MAX, `${log.capturedBytes} bytes`);
    assert.ok(log.capturedBytes > RECORDED_BYTES_MAX - 4 * RECORDED_BODY_MAX_BYTES);
    const listed = log.list();
    assert.deepEqual([listed.length, listed[0]?.id, listed.at(-1)?.id], [1000, 1100, 101]);
    const [newest, oldest] = [listed[0], listed.at(-1)];
    assert.deepEqual([newest?.target, newest?.webhook], [`${target}?n=1100`, 'stripe']);
    assert.deepEqual(
      [oldest?.method, oldest?.target, oldest?.status, oldest?.webhook],
      ['POST', target.slice(0, RECORDED_TARGET_MAX_CHARS), 200, 'stripe'],
    );
    assert.equal(log.detail(101), undefined);
    assert.equal(log.detail(1100)?.request.body.length, body.length);
  });

  it('keeps as much of each body as it is told, notes that there was more, and follows a change', () => {
    let kept = 1024 * 1024;
    const log = new RequestLog(undefined, RECORDED_REQUESTS_MAX, () => kept);
    const bodyOf = (id: number) => {
      const request = log.detail(id)?.request;
      return [request?.body.length, request?.isTruncated];
    };
    exchange(log, post('/', Buffer.alloc(200 * 1024)));
    kept = RECORDED_BODY_MAX_BYTES;
    for (const more of [0, 1]) exchange(log, post('/', Buffer.alloc(kept + more)));
    assert.deepEqual([1, 2, 3].map(bodyOf), [
      [200 * 1024, false],
      [kept, false],
      [kept, true],
    ]);
  });

  it('drops older requests for the largest bodies, within the same total', () => {
    const log = new RequestLog(undefined, RECORDED_REQUESTS_MAX, () => KEPT_BODY_MAX_BYTES);
    for (let n = 0; n < 7; n++) exchange(log, post('/', Buffer.alloc(KEPT_BODY_MAX_BYTES)));
    assert.ok(log.capturedBytes <= RECORDED_BYTES_MAX, `${log.capturedBytes} bytes`);
    assert.deepEqual([log.detail(1), log.detail(7)?.request.isTruncated], [undefined, false]);
    assert.equal(log.list().length, 7);
  });

  it('continues a request whose messages were dropped', () => {
    const log = new RequestLog(undefined, 2000);
    const stream = log.open();
    stream.toLocal(post('/stream'));
    for (let n = 0; n < 1000; n++) exchange(log, post('/', Buffer.alloc(RECORDED_BODY_MAX_BYTES)));
    assert.equal(log.detail(1), undefined);
    stream.toVisitor(Buffer.from(OK));
    const line = log.list().at(-1);
    assert.deepEqual([line?.target, line?.status, line?.bytesOut], ['/stream', 200, OK.length]);
  });

  it('returns changes since a revision, the latest last, in parts without gaps', () => {
    const log = new RequestLog(undefined, 2000);
    const open = log.open();
    open.toLocal(post('/slow'));
    const last = LOG_PART_MAX + 2;
    for (let n = 2; n <= last; n++) exchange(log, post(`/${n}`));
    const first = log.changes(LOG_START);
    assert.deepEqual(
      [first.requests.length, first.requests.at(-1)?.id, first.oldest, first.isMore, first.isWhole],
      [LOG_PART_MAX, LOG_PART_MAX, 1, true, true],
    );
    open.toVisitor(Buffer.from(OK));
    const second = log.changes(first.at);
    assert.deepEqual(
      second.requests.map(({ id, status }) => [id, status]),
      [
        [last - 1, 200],
        [last, 200],
        [1, 200],
      ],
    );
    assert.deepEqual([second.at, second.isMore, second.isWhole], [log.point, false, false]);
    assert.deepEqual(log.changes(second.at).requests, []);
    log.open().toLocal(Buffer.from('GET /half'));
    assert.deepEqual(log.changes(second.at).requests, [], 'its head has not come');
    log.clear(4);
    assert.equal(log.changes(second.at).oldest, 5);
    for (let n = 0; n < 2000; n++) exchange(log, post('/more'));
    assert.equal(log.changes(second.at).oldest, last + 2);
  });

  describe('that is hidden', () => {
    it('shows only later requests, to all who read it', async () => {
      const { log, add, ids } = hidable(3);
      const search = new LogSearch(log);
      assert.deepEqual((await search.find('/x')).ids, [3, 2, 1]);
      const told: number[] = [];
      log.subscribe(({ id }) => told.push(id));
      const late = log.open();
      late.toLocal(Buffer.from('GET /late'));
      log.hide();
      late.toLocal(Buffer.from(' HTTP/1.1\r\nHost: a\r\n\r\n'));
      add();
      assert.deepEqual([ids(), told, log.detail(3), log.detail(5)?.id], [[5], [5], undefined, 5]);
      assert.deepEqual((await search.find('/x')).ids, [5]);
    });

    it('shows them again with the later ones, also to a search', async () => {
      const { log, add, ids } = hidable(3);
      const search = new LogSearch(log);
      await search.find('/x');
      const hidden = log.hide();
      add();
      await search.find('/x');
      hidden.show();
      assert.deepEqual(ids(), [4, 3, 2, 1]);
      assert.deepEqual((await search.find('/x')).ids, [4, 3, 2, 1]);
    });

    it('forgets only the hidden requests', () => {
      const { log, add, ids } = hidable(3);
      const hidden = log.hide();
      add();
      hidden.forget();
      hidden.show();
      assert.deepEqual(ids(), [4]);
    });

    it('is read from its beginning after a hide, a show, or a new check of its requests', () => {
      const { log, add } = hidable(3);
      const { at } = log.changes(LOG_START);
      const hidden = log.hide();
      assert.notDeepEqual(log.point, at);
      add();
      const after = log.changes(at);
      assert.deepEqual([after.isWhole, after.oldest, after.requests.map(({ id }) => id)], [true, 4, [4]]);
      hidden.show();
      const again = log.changes(after.at);
      assert.deepEqual([again.isWhole, again.oldest, again.requests.length], [true, 1, 4]);
      log.tellAnew();
      assert.equal(log.changes(again.at).isWhole, true);
    });

    it('keeps hidden requests hidden', () => {
      const { log, add, ids } = hidable(3);
      const first = log.hide();
      add();
      log.hide();
      first.show();
      assert.deepEqual(ids(), []);
    });
  });

  it('keeps 256 KiB of a body by default', () => {
    const log = new RequestLog();
    exchange(log, post('/', Buffer.alloc(256 * 1024 + 1)));
    assert.equal(log.detail(1)?.request.body.length, 256 * 1024);
  });

  it('shows messages with their fields as sent, without chunked coding or secrets', () => {
    const log = new RequestLog();
    const chunked =
      'HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nX-a: 1\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n';
    exchange(log, post('/?token=abc', Buffer.from('{}'), 'authorization: Bearer abc\r\n'), chunked);
    const detail = log.detail(1);
    assert.equal(detail?.request.startLine, 'POST /?token=[redacted] HTTP/1.1');
    assert.deepEqual(detail.request.fields, [
      ['Content-Length', '2'],
      ['authorization', 'Bearer [redacted]'],
    ]);
    assert.equal(Buffer.from(detail.request.body).toString(), '{}');
    assert.equal(detail.response?.startLine, 'HTTP/1.1 200 Fine');
    assert.equal(Buffer.from(detail.response.body).toString(), 'hello');
    assert.equal(detail.response.isTruncated, false);
    assert.equal(log.list()[0]?.target, '/?token=[redacted]');
    assert.equal(log.list({ reveal: true })[0]?.target, '/?token=abc');
    const revealed = log.detail(1, { reveal: true });
    assert.deepEqual(revealed?.request.fields[1], ['authorization', 'Bearer abc']);
  });

  it("shows a visitor's address and device, as much as a line needs", () => {
    const log = new RequestLog();
    exchange(log, post('/', undefined, device('curl/8.1')));
    exchange(log, post('/', undefined, device('x'.repeat(9000))));
    exchange(log, post('/'));
    const replay = log.openReplay(1);
    replay.toLocal(post('/', undefined, device('curl/8.1')));
    const [again, none, long, first] = log.list().map(({ from }) => from);
    assert.deepEqual(first, { address: '203.0.113.7', agent: 'curl/8.1' });
    assert.equal(long?.agent, 'x'.repeat(200));
    assert.deepEqual([none, again], [undefined, undefined]);
  });

  it('knows all tries of a visit, whichever is asked for, as far as they are shown', () => {
    const log = new RequestLog();
    const again = (of: number, bytes: Buffer): void => {
      const replay = log.openReplay(of);
      replay.toLocal(bytes);
      replay.end(false);
    };
    const tries = (id: number) => log.tries(id).map((each) => each.id);
    exchange(log, post('/a'));
    exchange(log, post('/b'));
    again(1, post('/a'));
    again(3, post('/a'));
    again(1, post('/edited'));
    again(5, post('/edited'));
    assert.deepEqual([1, 3, 4].map(tries), [
      [1, 3, 4],
      [1, 3, 4],
      [1, 3, 4],
    ]);
    assert.deepEqual([2, 5, 6, 99].map(tries), [[2], [5, 6], [5, 6], []]);
    log.clear(1);
    assert.deepEqual([1, 3, 4].map(tries), [[], [3, 4], [3, 4]]);
  });

  it('has no response until its head is complete, and then what has arrived of it', () => {
    const log = new RequestLog();
    const recording = log.open();
    recording.toLocal(post('/'));
    recording.toVisitor(Buffer.from('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le'));
    assert.equal(log.detail(1)?.response, undefined);
    recording.toVisitor(Buffer.from('ngth: 9\r\n\r\nha'));
    const response = log.detail(1)?.response;
    assert.deepEqual([response?.startLine, response?.body.length], ['HTTP/1.1 200 OK', 2]);
  });

  it('notifies subscribers of a request, its response and its end', () => {
    const clock = new FakeClock();
    clock.advance(1000);
    const log = new RequestLog(clock);
    const seen: RequestSummary[] = [];
    const watched: (number | undefined)[] = [];
    const unsubscribe = log.subscribe((summary) => seen.push(summary));
    log.watch(({ status }) => watched.push(status));
    const recording = log.open();
    recording.toLocal(post('/?key=1'));
    recording.toVisitor(Buffer.from(OK.slice(0, -1)));
    clock.advance(5);
    recording.toVisitor(Buffer.from('k'));
    const ids = seen.map(({ status, durationMs }) => [status, durationMs]);
    assert.deepEqual(ids, [
      [undefined, undefined],
      [200, undefined],
      [200, 5],
    ]);
    assert.deepEqual(watched, [undefined, 200, 200]);
    assert.deepEqual([seen[0]?.startedAt, seen[0]?.target], [1000, '/?key=[redacted]']);
    unsubscribe();
    exchange(log, post('/'));
    assert.equal(seen.length, 3);
  });
});

const UPGRADE = Buffer.from('GET /live HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n');
const SWITCH = Buffer.from('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n');
const FRAME = Buffer.from('\x81\x02hi', 'latin1');
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

function openSocket(log: RequestLog) {
  const recording = log.open();
  recording.toLocal(UPGRADE);
  recording.toVisitor(SWITCH);
  return recording;
}

describe('a connection that carries messages', () => {
  it('shows its counts while it is open, four times a second at most, and at its end', () => {
    const clock = new FakeClock();
    const log = new RequestLog(clock);
    const recording = openSocket(log);
    const seen: (number | undefined)[] = [];
    log.subscribe(({ messages }) => seen.push(messages?.fromService));
    for (let count = 0; count < 1000; count += 1) {
      recording.toVisitor(Buffer.concat([FRAME, FRAME]));
      clock.advance(1);
    }
    assert.deepEqual(seen, [500, 1000, 1500, 2000]);
    recording.toVisitor(FRAME);
    assert.deepEqual(clock.waiting, [250]);
    recording.end(false);
    clock.advance(1000);
    assert.deepEqual(seen.slice(4), [2001]);
  });

  it('is counted on when its messages are forgotten to make room', () => {
    const log = new RequestLog(new FakeClock(), undefined, () => KEPT_BODY_MAX_BYTES);
    const recording = openSocket(log);
    recording.toVisitor(FRAME);
    for (let n = 0; n < 12; n += 1) exchange(log, post('/large', Buffer.alloc(KEPT_BODY_MAX_BYTES)));
    assert.deepEqual([log.messages(1), log.detail(1)], [undefined, undefined]);
    const before = log.capturedBytes;
    recording.toVisitor(FRAME);
    assert.equal(log.list().at(-1)?.messages?.fromService, 2);
    assert.equal(log.capturedBytes, before);
  });

  for (const [what, head, body] of [
    ['in chunks', EVENTS, '9\r\ndata: a\n\n\r\n6\r\ndata: \r\n3\r\nb\n\n\r\n'],
    ['until the connection ends', EVENTS.replace(/Transfer.*\r\n/, ''), 'data: a\n\ndata: b\n\n'],
    ['of a length', EVENTS.replace(/Transfer.*\r\n/, 'Content-Length: 18\r\n'), 'data: a\n\ndata: b\n\n'],
    [
      'with a charset',
      EVENTS.replace('stream', 'stream;charset=utf-8'),
      '9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n',
    ],
    ['without any event yet', EVENTS, ''],
    ['that is no stream of events', EVENTS.replace('stream', 'streams'), '9\r\ndata: a\n\n\r\n'],
    ['without a body', EVENTS.replace('200 OK', '204 No Content'), ''],
  ] as const)
    it(`is a response with events, ${what}, in pieces of any size`, () => {
      const expected = { ...(body !== '' && { fromService: 2 }) };
      for (const size of [1, 2, 7, 1000]) {
        const log = new RequestLog(new FakeClock());
        const recording = log.open();
        recording.toLocal(Buffer.from('GET /events HTTP/1.1\r\nHost: a\r\n\r\n'));
        const bytes = Buffer.from(head + body);
        for (let at = 0; at < bytes.length; at += size) recording.toVisitor(bytes.subarray(at, at + size));
        const is = !what.includes('no stream') && !what.includes('without a body');
        const counts = { kind: 'event-stream', fromVisitor: 0, fromService: 0, control: 0, ...expected };
        assert.deepEqual(log.list()[0]?.messages, is ? counts : undefined);
        assert.equal(
          log.detail(1)?.response?.body.length,
          is || body !== '' ? body.replaceAll(/[0-9a-f]+\r\n|\r\n/g, '').length : 0,
        );
      }
    });

  it('has no events that can be told apart if the response is compressed as a whole', () => {
    const log = new RequestLog(new FakeClock());
    exchange(
      log,
      post('/'),
      EVENTS.replace('\r\n', '\r\nContent-Encoding: gzip\r\n') + '1\r\nx\r\n0\r\n\r\n',
    );
    assert.deepEqual(log.messages(1), { count: 0, oldest: 1, messages: [], problem: 'encoded' });
  });
});

describe('the sparkline of a tunnel', () => {
  it('counts requests, refusals and errors per second', () => {
    const pulse = new Pulse();
    for (const now of [1000, 1999, 2000]) pulse.count(now);
    pulse.countError(2500);
    pulse.countRefused(2600);
    assert.deepEqual(pulse.list(2999), [
      { id: 1, requests: 2, refused: 0, errors: 0 },
      { id: 2, requests: 1, refused: 1, errors: 1 },
    ]);
  });

  it('covers only the last 60 s', () => {
    const pulse = new Pulse();
    for (let second = 0; second < 200; second += 1) pulse.count(second * 1000);
    const ids = pulse.list(199_000).map(({ id }) => id);
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [SPARKLINE_SECONDS, 140, 199]);
    assert.deepEqual(pulse.list(300_000), []);
  });

  it("counts only visitors' requests, and failures when they end", () => {
    const clock = new FakeClock();
    const log = new RequestLog(clock);
    const request = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const recording = log.open();
    recording.toLocal(request);
    clock.advance(3000);
    recording.toVisitor(Buffer.from('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'));
    const missing = log.open();
    missing.toLocal(request);
    missing.toVisitor(Buffer.from('HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n'));
    const replay = log.openReplay(1);
    replay.toLocal(request);
    replay.end(true);
    const broken = log.open();
    broken.toLocal(request);
    broken.end(true);
    assert.deepEqual(log.pulse, [
      { id: 0, requests: 1, refused: 0, errors: 0 },
      { id: 3, requests: 2, refused: 1, errors: 2 },
    ]);
  });
});
