import assert from 'node:assert/strict';
import { FakeStream } from '../../testing/fake-stream.ts';
import { RecordedStream, type Recorder } from './stream-filter.ts';

function setUp(waited = 0) {
  const told: string[] = [];
  const recorder: Pick<Recorder, 'open'> = {
    open(waitedMs) {
      told.push(waitedMs === 0 ? 'open' : `open after ${waitedMs} ms`);
      return {
        connected: () => void told.push('connected'),
        rehearsed: (how) => void told.push(how),
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
