import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { type Recorder, RecordedStream } from '../data/stream-filter.ts';
import { DELAY_RULE, FAIL_RULE, Rehearsal, RehearsedStream } from './rehearsal.ts';

/** @returns a stream with these rules, and what the local service and the log learn */
function setUp(rules: { fail?: string[]; delay?: string[] }, rehearsal = rehearse(rules)) {
  const clock = new FakeClock();
  const inner = new FakeStream();
  const marks: string[] = [];
  const recorder: Pick<Recorder, 'open'> = {
    open: () => ({
      connected() {},
      rehearsed: (how) => void marks.push(how),
      toLocal() {},
      toVisitor() {},
      end: (isBroken) => void marks.push(isBroken ? 'broken' : 'end'),
    }),
  };
  const stream = new RehearsedStream(new RecordedStream(inner, recorder), rehearsal, clock);
  const local: string[] = [];
  stream.attach({
    onStreamData: (piece) => void local.push(piece.toString()),
    onStreamDrain() {},
    onStreamClose: (code) => void local.push(`closed ${code}`),
  });
  return { clock, inner, local, marks, rehearsal };
}

function rehearse({ fail = [], delay = [] }: { fail?: string[]; delay?: string[] }): Rehearsal {
  return new Rehearsal([...fail, ...delay]);
}

function request(method: string, target: string, body = ''): string {
  return `${method} ${target} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe('a rehearsal', () => {
  const rules: readonly (readonly [rule: typeof FAIL_RULE, accepted: string[], rejected: string[]])[] = [
    [
      FAIL_RULE,
      ['POST /hooks 500 x2', '/ 503', ' PUT  /a%20b/c  404 x9999 '],
      [
        '',
        '/hooks',
        'hooks 500',
        '/ 200',
        '/ 399',
        '/ 600',
        '/ 500 x0',
        '/ 500 2',
        'post /a 500',
        '/a?b 500',
        '/ 3s',
      ],
    ],
    [
      DELAY_RULE,
      ['/api 3s', 'GET /api 500ms x2', '/ 60s'],
      ['/api', '/api 3', '/api 0s', '/api 61s', '/api 60001ms', '/api 1m', '/api 500'],
    ],
  ];
  for (const [rule, accepted, rejected] of rules)
    it(`has rules for ${rule.code}`, () => {
      for (const text of accepted) assert.equal(rule.accepts(text), true, text);
      for (const text of rejected) assert.equal(rule.accepts(text), false, text);
    });

  it('fails matching requests as often as it should, after all of their bodies', () => {
    const rehearsal = rehearse({ fail: ['POST /hooks 500 x2', '/gone 410'] });
    for (const target of ['/hooks', '/hooks/github?a=1']) {
      const { inner, local, marks } = setUp({}, rehearsal);
      const sent = request('POST', target, 'body');
      for (const [index, byte] of sent.split('').entries()) {
        assert.equal(inner.sent, '', `after ${index} bytes`);
        inner.receive(byte);
      }
      assert.match(inner.sent, /^HTTP\/1\.1 500 Internal Server Error\r\n.*\r\n\r\n500 .* rehearsal/s);
      assert.deepEqual([inner.ended, local, marks], [1000, ['closed 1000'], ['failed', 'end']]);
    }
    const { inner, local, marks } = setUp({}, rehearsal);
    const passing = [request('POST', '/hooks'), request('GET', '/hookshot'), request('PUT', '/a', 'x')];
    for (const each of passing) inner.receive(each);
    assert.deepEqual([local, marks, inner.sent], [passing, [], '']);
    inner.receive(request('HEAD', '/gone'));
    assert.match(inner.sent, /^HTTP\/1\.1 410 Gone\r\n.*\r\n\r\n$/s);
  });

  it('responds to a sender that waits with its body', () => {
    const { inner, local } = setUp({ fail: ['/ 503'] });
    inner.receive('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n');
    assert.match(inner.sent, /^HTTP\/1\.1 503 /);
    assert.deepEqual(local, ['closed 1000']);
  });

  it('delays matching requests with everything behind them, and then passes all of it in order', () => {
    const { inner, local, clock, marks } = setUp({ delay: ['/api 3s x1'], fail: ['/end 500'] });
    const [one, two, three] = [
      request('POST', '/api', 'abcdef'),
      request('GET', '/x'),
      request('GET', '/end'),
    ];
    inner.receive(one.slice(0, -3));
    inner.receive(one.slice(-3) + two);
    inner.receive(three);
    clock.advance(2999);
    assert.deepEqual([local, marks], [[], ['delayed']]);
    clock.advance(1);
    assert.equal(local.slice(0, -1).join(''), one + two);
    assert.deepEqual(marks, ['delayed', 'failed', 'end']);
    assert.match(inner.sent, /^HTTP\/1\.1 500 /);
  });

  it('forgets a request whose sender gives up during the delay', () => {
    const { inner, local, clock } = setUp({ delay: ['/ 10s'] });
    inner.receive(request('POST', '/', 'abc'));
    assert.equal(inner.paused, false);
    inner.closeByRelay(1001);
    clock.advance(10_000);
    assert.deepEqual(local, ['closed 1001']);
  });

  it('lets a sender of a large body wait during the delay', () => {
    const { inner, local, clock } = setUp({ delay: ['/ 1s'] });
    const body = 'x'.repeat(300_000);
    inner.receive(request('POST', '/', body));
    assert.equal(inner.paused, true);
    clock.advance(1000);
    assert.deepEqual([inner.paused, local.join('')], [false, request('POST', '/', body)]);
  });

  it('ends when it is switched off, and passes what is not HTTP, or no longer', () => {
    const { inner, local, rehearsal } = setUp({ fail: ['/ 500'] });
    rehearsal.isOn = false;
    const upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n';
    inner.receive(upgrade);
    rehearsal.isOn = true;
    inner.receive(request('GET', '/'));
    assert.deepEqual(local, [upgrade, request('GET', '/')]);
    const other = setUp({ fail: ['/ 500'] });
    other.inner.receive('\r\nno request');
    assert.deepEqual(other.local, ['\r\nno request']);
  });
});
