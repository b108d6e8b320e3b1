import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ownerOf } from '../../testing/edge-fixture.ts';
import { DATA, END_HEADERS, END_STREAM, HEADERS } from './frames.ts';
import { HeaderEncoder } from './hpack.ts';
import { Http2Stream } from './stream.ts';

describe('Http2Stream', () => {
  let now: number;
  let resets: number[];
  let over: number;
  let accepted: number;
  let stream: Http2Stream;

  beforeEach(() => {
    now = 0;
    resets = [];
    over = 0;
    accepted = 0;
    const carrier = {
      now: () => now,
      ready() {},
      accepted: (_stream: Http2Stream, bytes: number) => void (accepted += bytes),
      waits() {},
      reset: (_stream: Http2Stream, code: number) => void resets.push(code),
      over: () => void (over += 1),
      inform() {},
    };
    const head = { bytes: Buffer.from('POST'), body: 'length', length: 9, urgency: 3 } as const;
    stream = new Http2Stream(1, head, false, { receive: 99, send: 99 }, carrier);
    stream.start();
  });

  /** Sends what is due. @returns bytes of content */
  function send(): number {
    const content = stream.take([], new HeaderEncoder(), 99);
    stream.sent();
    return content;
  }

  it('fails if its request ends before its length, and nothing of a response has come', () => {
    stream.ends();
    assert.deepEqual([resets, stream.destroyed], [[1], true]);
  });

  it('sends the whole response to a visitor that stopped sending when it saw the response', () => {
    stream.begin(413, []);
    stream.write(Buffer.from('ab'));
    assert.equal(send(), 2);
    stream.ends();
    now += 499;
    stream.tick(now);
    stream.write(Buffer.from('c'));
    now += 499;
    stream.tick(now);
    stream.write(Buffer.from('d'));
    stream.finish([]);
    assert.deepEqual([send(), resets, over], [2, [], 1]);
  });

  it('gives that response up when it pauses for 500 ms', () => {
    stream.begin(413, []);
    stream.write(Buffer.from('ab'));
    stream.ends();
    now += 500;
    stream.tick(now);
    assert.deepEqual([resets, stream.destroyed], [[1], true]);
  });

  it('does not wait for an informational response, of which nothing is kept', () => {
    stream.begin(103, [{ name: 'link', value: 'x' }]);
    assert.deepEqual([stream.writableLength, stream.hasOutput], [0, false]);
  });

  it('ends with trailers, in a frame of their own', () => {
    stream.begin(200, []);
    stream.write(Buffer.from('ab'));
    stream.finish([{ name: 'a', value: 'b' }]);
    const frames: Buffer[] = [];
    stream.take(frames, new HeaderEncoder(), 99);
    const [head, data, content, trailers] = frames;
    assert.deepEqual(
      [head, data, trailers].map((bytes) => bytes && [bytes[3], bytes[4]]),
      [
        [HEADERS, END_HEADERS],
        [DATA, 0],
        [HEADERS, END_HEADERS | END_STREAM],
      ],
    );
    assert.equal(String(content), 'ab');
  });

  it('keeps the order of a body that arrives while its reader resumes', async () => {
    let body = '';
    stream.attach(ownerOf((bytes) => (body += bytes.toString())));
    stream.pause();
    stream.receive(Buffer.from('abc'));
    stream.resume();
    stream.receive(Buffer.from('def'));
    await nextTurn();
    assert.equal(body, 'abcdef');
  });

  it('gives back what its reader took before it closed the stream', async () => {
    stream.pause();
    stream.receive(Buffer.from('abc'));
    const owner = ownerOf((bytes) => {
      if (bytes.length === 3) {
        stream.pause();
        stream.receive(Buffer.from('de'));
        stream.resume();
      } else stream.destroy();
    });
    stream.attach(owner);
    stream.resume();
    await nextTurn();
    // The rest is counted by the connection, which forgets the stream.
    assert.deepEqual([stream.destroyed, accepted + stream.waiting], [true, 5]);
  });
});
