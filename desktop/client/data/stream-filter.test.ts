import assert from 'node:assert/strict';
import { array, assert as check, integer, property } from 'fast-check';
import { FakeStream } from '../../testing/fake-stream.ts';
import { UPGRADE_EARLY_MAX_BYTES } from '../limits.ts';
import { localPort } from '../local/local-service.ts';
import { replacementHost } from '../local/local-error.ts';
import { HostRewriter, RecordedStream, type Recorder } from './stream-filter.ts';

function setUp(waited = 0) {
  const told: string[] = [];
  const recorder: Recorder = {
    open(waitedMs) {
      told.push(waitedMs === 0 ? 'open' : `open after ${waitedMs} ms`);
      return {
        connected: () => void told.push('connected'),
        toLocal: (bytes) => void told.push(`> ${bytes.toString()}`),
        toVisitor: (bytes) => void told.push(`< ${bytes.toString()}`),
        end: (isBroken) => void told.push(isBroken ? 'broken' : 'end'),
      };
    },
  };
  const inner = new FakeStream();
  const stream = new RecordedStream(inner, recorder, waited);
  const received: string[] = [];
  stream.attach({
    onStreamData: (piece) => void received.push(piece.toString()),
    onStreamDrain: () => void received.push('drain'),
    onStreamClose: (code) => void received.push(String(code)),
  });
  return { inner, stream, told, received };
}

describe('RecordedStream', () => {
  it('passes everything on, and reports every byte in order', () => {
    const { inner, stream, told, received } = setUp();
    inner.receive('ask');
    stream.write(Buffer.from('answer'));
    inner.drain();
    inner.receive('more');
    stream.close(1000);
    assert.deepEqual(told, ['open', '> ask', '< answer', '> more', 'end']);
    assert.deepEqual(received, ['ask', 'drain', 'more']);
    assert.deepEqual([inner.sent, inner.ended], ['answer', 1000]);
  });

  it('reports how long the visitor waited, and when there is a local connection', () => {
    const late = setUp(7);
    late.inner.receive('ask');
    late.stream.connected();
    assert.deepEqual(late.told, ['open after 7 ms', '> ask', 'connected']);
    const ahead = setUp();
    ahead.stream.connected();
    ahead.inner.receive('ask');
    ahead.stream.close(1000);
    ahead.stream.connected();
    assert.deepEqual(ahead.told, ['open', 'connected', '> ask', 'end']);
  });

  it('opens no recording for a socket without data', () => {
    const { inner, stream, told } = setUp();
    inner.closeByRelay(1000);
    stream.close(1000);
    assert.deepEqual(told, []);
  });

  const endings: [string, (ends: ReturnType<typeof setUp>) => void, string][] = [
    ['the relay closes cleanly', ({ inner }) => inner.closeByRelay(1000), 'end'],
    ['the relay is lost', ({ inner }) => inner.closeByRelay(1006), 'broken'],
    ['the local service resets', ({ stream }) => stream.close(1011), 'broken'],
    ['it is cut', ({ stream }) => stream.destroy(), 'broken'],
  ];
  for (const [name, end, outcome] of endings) {
    it(`reports the end once when ${name}`, () => {
      const ends = setUp();
      ends.inner.receive('ask');
      end(ends);
      end(ends);
      assert.deepEqual(ends.told, ['open', '> ask', outcome]);
    });
  }
});

function hostRewriterSetUp() {
  const inner = new FakeStream();
  const stream = new HostRewriter(inner, 'localhost:3000');
  const got = { text: '', closed: undefined as number | undefined };
  stream.attach({
    onStreamData: (piece) => void (got.text += piece.toString('latin1')),
    onStreamDrain() {},
    onStreamClose: (code) => void (got.closed = code),
  });
  return { inner, stream, got };
}

const request = (host: string): string =>
  `GET /a?b HTTP/1.1\r\nX-First:  odd \r\nhoSt: ${host}\r\nAccept: */*\r\nX-Forwarded-Host: my.app\r\n\r\n`;
const post = (host: string): string =>
  `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 28\r\n\r\nGET / HTTP/1.1\r\nHost: no\r\n\r\n`;
const chunked = (host: string): string =>
  `PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: ${host}\r\n\r\n1c\r\nGET / HTTP/1.1\r\nHost: no\r\n\r\n\r\n0\r\n\r\n`;
const upgrade = (host: string): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const offer = (host: string): string => post(host).replace('Content', 'Upgrade: websocket\r\nContent');
const all = (host: string): string => request(host) + post(host) + chunked(host) + request(host);

describe('HostRewriter', () => {
  it('changes the Host of every request, and nothing else', () => {
    const { inner, got } = hostRewriterSetUp();
    for (const one of [request, post, chunked, request]) {
      inner.receive(one('my.app'));
      assert.ok(got.text.endsWith(one('localhost:3000')), got.text);
    }
  });

  it('finds the requests no matter how they are split', () => {
    check(
      property(array(integer({ min: 1, max: 200 }), { minLength: 1 }), (sizes) => {
        const { inner, got } = hostRewriterSetUp();
        const bytes = all('my.app');
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          inner.receive(bytes.slice(at, at + size));
          at += size;
        }
        assert.equal(got.text, all('localhost:3000'));
      }),
    );
  });

  it('leaves the bytes after an upgrade alone', () => {
    const { inner, stream, got } = hostRewriterSetUp();
    inner.receive(upgrade('my.app'));
    stream.write(Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 Swit'));
    stream.write(Buffer.from('ching Protocols\r\nUpgrade: websocket\r\n\r\n'));
    inner.receive(request('frame'));
    assert.equal(got.text, upgrade('localhost:3000') + request('frame'));
  });

  it('continues after an upgrade that was not accepted', () => {
    const { inner, stream, got } = hostRewriterSetUp();
    inner.receive(upgrade('my.app') + request('my.app'));
    assert.equal(got.text, upgrade('localhost:3000'));
    stream.write(Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'));
    assert.equal(got.text, upgrade('localhost:3000') + request('localhost:3000'));
    inner.receive(request('my.app'));
    assert.ok(got.text.endsWith(request('localhost:3000')));
  });

  it('stops reading 64 KiB after an unanswered upgrade, and passes all of it on later', () => {
    const { inner, stream, got } = hostRewriterSetUp();
    inner.receive(upgrade('my.app'));
    const piece = 'x'.repeat(16 * 1024);
    let sent = 0;
    while (!inner.paused) {
      inner.receive(piece);
      sent += piece.length;
    }
    assert.equal(sent, UPGRADE_EARLY_MAX_BYTES + piece.length);
    // Its handler may resume reading, which changes nothing.
    stream.pause();
    stream.resume();
    assert.ok(inner.paused);
    stream.write(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    assert.equal(got.text.length, upgrade('localhost:3000').length + sent);
    assert.ok(!inner.paused);
  });

  it('stays paused after an upgrade if its handler is paused', () => {
    const { inner, stream } = hostRewriterSetUp();
    inner.receive(upgrade('my.app') + 'x'.repeat(UPGRADE_EARLY_MAX_BYTES + 1));
    stream.pause();
    stream.write(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    assert.ok(inner.paused);
    stream.resume();
    assert.ok(!inner.paused);
  });

  it('passes on the body of a request that offers an upgrade before the response', () => {
    const { inner, stream, got } = hostRewriterSetUp();
    inner.receive(offer('my.app') + request('my.app'));
    assert.equal(got.text, offer('localhost:3000'));
    stream.write(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    assert.equal(got.text, offer('localhost:3000') + request('localhost:3000'));
  });

  for (const [name, bytes] of Object.entries({
    'has more than one Host': 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n',
    'is no HTTP': 'hello\r\n\r\n',
    'has an endless head': `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`,
    'has an ambiguous body': 'POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'has a broken body': 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n',
  })) {
    it(`breaks the connection when a request ${name}`, () => {
      const { inner, got } = hostRewriterSetUp();
      inner.receive(bytes);
      assert.deepEqual([inner.ended, got.closed], ['cut', 1006]);
    });
  }

  it('breaks the connection when the response to an upgrade is malformed', () => {
    const { inner, stream, got } = hostRewriterSetUp();
    inner.receive(upgrade('my.app'));
    stream.write(Buffer.from('hello\r\n\r\n'));
    assert.deepEqual([inner.ended, got.closed], ['cut', 1006]);
  });
});

describe('replacementHost', () => {
  it('follows the mode', () => {
    assert.equal(replacementHost('keep', localPort(3000)), undefined);
    assert.equal(replacementHost('local', localPort(3000)), 'localhost:3000');
    assert.equal(replacementHost('local', { ...localPort(3000), host: '::1' }), '[::1]:3000');
    assert.equal(replacementHost('my.test', localPort(3000)), 'my.test');
  });
});
