import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import {
  DATA_MAX_BYTES,
  FRAME_HEADER_BYTES,
  FrameReader,
  FrameType,
  LAST_STREAM_ID,
  WINDOW_MAX_BYTES,
  writeHeader,
} from './frames.ts';

function frame(type: number, id: number, value: number, payload = ''): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeHeader(header, 0, type as FrameType, id, value);
  return Buffer.concat([header, Buffer.from(payload)]);
}

/** Reads bytes in pieces, and returns the events of the handler; adjacent content of a stream is joined. */
function told(bytes: Buffer, pieces = bytes.length): string[] {
  const events: string[] = [];
  let last = 0;
  const reader = new FrameReader({
    onOpen: (id, peers) => events.push(`open ${id} ${peers}`.trim()),
    onData(id, piece) {
      const before = events.at(-1);
      if (before?.startsWith('data ') === true && last === id) events[events.length - 1] += piece.toString();
      else events.push(`data ${id} ${piece.toString()}`);
      last = id;
    },
    onEnd: (id, code) => events.push(code === CloseCode.normal ? `end ${id}` : `abort ${id} ${code}`),
    onWindow: (id, more) => events.push(`window ${id} ${more}`),
    onMove: (id, connectionId) => events.push(`move ${id} ${connectionId}`),
    onMoved: (id) => events.push(`moved ${id}`),
    onEof: (id) => events.push(`eof ${id}`),
    onProtocolError: (reason) => events.push(`error: ${reason}`),
  });
  for (let at = 0; at < bytes.length; at += pieces) reader.push(bytes.subarray(at, at + pieces));
  return events;
}

/** A row for an ABORT with a forbidden code. */
function abort(code: number): readonly [string, Buffer, string] {
  return [`ABORT with code ${code}`, frame(FrameType.abort, 1, code), `ABORT with code ${code}`];
}

describe('FrameReader of a trunk', () => {
  it('reads every type in pieces of any size', () => {
    const bytes = Buffer.concat([
      frame(FrameType.open, 1, 0),
      frame(FrameType.data, 1, 5, 'hello'),
      frame(FrameType.window, 0x0102_0304, 65_536),
      frame(FrameType.data, 2, 1, '!'),
      frame(FrameType.abort, 3, CloseCode.goingAway),
      frame(FrameType.move, 7, 4, 'id-7'),
      frame(FrameType.moved, 7, 0),
      frame(FrameType.open, 8, 3, 'a b'),
      frame(FrameType.eof, 8, 0),
      frame(FrameType.end, 1, 0),
    ]);
    for (let pieces = 1; pieces <= bytes.length; pieces += 1) {
      assert.deepEqual(told(bytes, pieces), [
        'open 1',
        'data 1 hello',
        'window 16909060 65536',
        'data 2 !',
        'abort 3 1001',
        'move 7 id-7',
        'moved 7',
        'open 8 a b',
        'eof 8',
        'end 1',
      ]);
    }
  });

  it('hands over bytes of a DATA frame before the rest has arrived, and no other partial frame', () => {
    assert.deepEqual(told(frame(FrameType.data, 1, 100, 'the first of a hundred')), [
      'data 1 the first of a hundred',
    ]);
    assert.deepEqual(told(frame(FrameType.data, 1, 100)), []);
  });

  describe('accepts values at their limits', () => {
    const large = 'x'.repeat(DATA_MAX_BYTES);
    for (const [what, bytes, expected] of [
      ['the last stream', frame(FrameType.open, LAST_STREAM_ID, 0), 'open 4294967295'],
      ['the longest OPEN', frame(FrameType.open, 1, 128, 'y'.repeat(128)), `open 1 ${'y'.repeat(128)}`],
      ['the largest DATA', frame(FrameType.data, 1, DATA_MAX_BYTES, large), `data 1 ${large}`],
      ['the smallest WINDOW', frame(FrameType.window, 1, 1), 'window 1 1'],
      ['the largest WINDOW', frame(FrameType.window, 1, WINDOW_MAX_BYTES), 'window 1 262144'],
      ['the longest MOVE', frame(FrameType.move, 1, 64, 'y'.repeat(64)), `move 1 ${'y'.repeat(64)}`],
      ['an ABORT of our own', frame(FrameType.abort, 1, 4999), 'abort 1 4999'],
    ] as const) {
      it(what, () => assert.deepEqual(told(bytes), [expected]));
    }
  });

  describe('reports malformed frames, and reads nothing after them', () => {
    for (const [what, bytes, reason] of [
      ['OPEN of stream 0', frame(FrameType.open, 0, 0), 'stream 0'],
      ['DATA of stream 0', frame(FrameType.data, 0, 1, 'x'), 'stream 0'],
      ['END of stream 0', frame(FrameType.end, 0, 0), 'stream 0'],
      ['ABORT of stream 0', frame(FrameType.abort, 0, 1001), 'stream 0'],
      ['WINDOW of stream 0', frame(FrameType.window, 0, 1), 'stream 0'],
      ['OPEN with a long text', frame(FrameType.open, 1, 129), 'OPEN with value 129'],
      ['EOF with a value', frame(FrameType.eof, 1, 1), 'EOF with value 1'],
      ['empty DATA', frame(FrameType.data, 1, 0), 'DATA of 0 bytes'],
      ['DATA that is too large', frame(FrameType.data, 1, DATA_MAX_BYTES + 1, 'x'), 'DATA of 65537 bytes'],
      ['DATA of 4 GiB', frame(FrameType.data, 1, 0xffff_ffff, 'x'), 'DATA of 4294967295 bytes'],
      ['END with a value', frame(FrameType.end, 1, 1000), 'END with value 1000'],
      ['WINDOW of nothing', frame(FrameType.window, 1, 0), 'WINDOW of 0 bytes'],
      [
        'WINDOW that is too large',
        frame(FrameType.window, 1, WINDOW_MAX_BYTES + 1),
        'WINDOW of 262145 bytes',
      ],
      ['WINDOW of 4 GiB', frame(FrameType.window, 1, 0xffff_ffff), 'WINDOW of 4294967295 bytes'],
      ['MOVE of stream 0', frame(FrameType.move, 0, 1, 'x'), 'stream 0'],
      ['MOVE without an id', frame(FrameType.move, 1, 0), 'MOVE with an id of 0 bytes'],
      ['MOVE with a long id', frame(FrameType.move, 1, 65, 'x'), 'MOVE with an id of 65 bytes'],
      ['MOVED with a value', frame(FrameType.moved, 1, 1), 'MOVED with value 1'],
      ['an unknown type', frame(8, 1, 0), 'frames of type 8'],
      ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'frames of type 71'],
      ...[0, 999, 1000, 1004, 1005, 1006, 1015, 2999, 5000, 0xffff_ffff].map(abort),
    ] as const) {
      it(what, () => {
        const all = Buffer.concat([frame(FrameType.open, 9, 0), bytes, frame(FrameType.open, 10, 0)]);
        for (const pieces of [1, 9, all.length]) {
          assert.deepEqual(told(all, pieces), ['open 9', `error: no trunk has ${reason}`]);
        }
      });
    }
  });

  it('reads nothing once it was stopped, even in the middle of its bytes', () => {
    const events: string[] = [];
    const reader: FrameReader = new FrameReader({
      onOpen(id) {
        events.push(`open ${id}`);
        reader.stop();
      },
      onData() {},
      onEnd() {},
      onWindow() {},
      onMove() {},
      onMoved() {},
      onEof() {},
      onProtocolError() {},
    });
    reader.push(Buffer.concat([frame(FrameType.open, 1, 0), frame(FrameType.open, 2, 0)]));
    reader.push(frame(FrameType.open, 3, 0));
    assert.deepEqual(events, ['open 1']);
  });
});
