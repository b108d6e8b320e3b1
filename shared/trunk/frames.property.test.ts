import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode, isSendableCode } from '../control.ts';
import {
  DATA_MAX_BYTES,
  FRAME_HEADER_BYTES,
  type FrameHandler,
  FrameReader,
  FrameType,
  LAST_STREAM_ID,
  WINDOW_MAX_BYTES,
  writeHeader,
} from './frames.ts';

interface Frame {
  readonly type: FrameType;
  readonly id: number;
  readonly value: number;
  readonly payload: Buffer;
}

const NONE = Buffer.alloc(0);
const id = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: LAST_STREAM_ID }));
const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 });
/** Few large payloads. */
const payload = fc
  .tuple(
    fc.oneof(
      { weight: 19, arbitrary: fc.integer({ min: 1, max: 60 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: DATA_MAX_BYTES }) },
    ),
    fc.integer({ min: 0, max: 255 }),
  )
  .map(([length, first]) =>
    Buffer.from(Uint8Array.from({ length }, (_, index) => (first + index * 7) & 0xff)),
  );

function frameOf(type: FrameType, value: fc.Arbitrary<number>): fc.Arbitrary<Frame> {
  return fc.record({ type: fc.constant(type), id, value, payload: fc.constant(NONE) });
}

const abortCode = fc
  .oneof(fc.integer({ min: 1001, max: 1014 }), fc.integer({ min: 3000, max: 4999 }))
  .filter(isSendableCode);
const anyFrame: fc.Arbitrary<Frame> = fc.oneof(
  frameOf(FrameType.open, fc.constant(0)),
  frameOf(FrameType.end, fc.constant(0)),
  frameOf(FrameType.moved, fc.constant(0)),
  frameOf(FrameType.eof, fc.constant(0)),
  fc.tuple(id, fc.stringMatching(/^[0-9a-f.:]{1,63} [0-9a-f.:]{1,64}$/)).map(([stream, peers]) => ({
    type: FrameType.open,
    id: stream,
    value: peers.length,
    payload: Buffer.from(peers),
  })),
  fc.tuple(id, fc.stringMatching(/^[a-z0-9-]{1,64}$/)).map(([stream, connectionId]) => ({
    type: FrameType.move,
    id: stream,
    value: connectionId.length,
    payload: Buffer.from(connectionId),
  })),
  frameOf(FrameType.abort, abortCode),
  frameOf(FrameType.window, fc.integer({ min: 1, max: WINDOW_MAX_BYTES })),
  fc.tuple(id, payload).map(([stream, content]) => ({
    type: FrameType.data,
    id: stream,
    value: content.length,
    payload: content,
  })),
);

function written({ type, id: stream, value, payload: content }: Frame): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeHeader(header, 0, type, stream, value);
  return Buffer.concat([header, content]);
}

/** The events for bytes in pieces, as frames; the last piece is the rest. Adjacent content is joined. */
function read(bytes: Buffer, pieces: readonly number[]): string[] {
  const seen: { what: string; content: Buffer[] }[] = [];
  const tell = (what: string): void => void seen.push({ what, content: [] });
  const handler: FrameHandler = {
    onOpen: (stream, peers) => tell(`open ${stream} ${peers}`),
    onData(stream, piece) {
      if (seen.at(-1)?.what !== `data ${stream}`) tell(`data ${stream}`);
      seen.at(-1)?.content.push(Buffer.from(piece));
    },
    onEnd: (stream, code) => tell(code === CloseCode.normal ? `end ${stream}` : `abort ${stream} ${code}`),
    onWindow: (stream, more) => tell(`window ${stream} ${more}`),
    onMove: (stream, connectionId) => tell(`move ${stream} ${connectionId}`),
    onMoved: (stream) => tell(`moved ${stream}`),
    onEof: (stream) => tell(`eof ${stream}`),
    onProtocolError: (reason) => tell(`error ${reason}`),
  };
  const reader = new FrameReader(handler);
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    reader.push(bytes.subarray(at, at + size));
    at = Math.min(bytes.length, at + size);
  }
  return seen.map(({ what, content }) => `${what} ${Buffer.concat(content).toString('hex')}`);
}

/** The expected events for frames. */
function expected(frames: readonly Frame[]): string[] {
  const names = ['open', 'data', 'end', 'abort', 'window', 'move', 'moved', 'eof'];
  const seen: { what: string; content: string }[] = [];
  for (const { type, id: stream, value, payload: content } of frames) {
    const hasValue = type === FrameType.abort || type === FrameType.window;
    const what = `${names[type]} ${stream}${hasValue ? ` ${value}` : ''}`;
    if (type === FrameType.move || type === FrameType.open) {
      seen.push({ what: `${what} ${content.toString()}`, content: '' });
      continue;
    }
    const last = seen.at(-1);
    if (type === FrameType.data && last?.what === what) last.content += content.toString('hex');
    else seen.push({ what, content: content.toString('hex') });
  }
  return seen.map(({ what, content }) => `${what} ${content}`);
}

describe('trunk frames in any pieces', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 12 }), sizes, (frames, pieces) => {
        assert.deepEqual(read(Buffer.concat(frames.map(written)), pieces), expected(frames));
      }),
    );
  });

  it('are judged the same in one piece or several if their bytes are random', () => {
    const anyBytes = fc
      .array(
        fc.tuple(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 3 }), fc.nat(20), fc.nat(30)),
        {
          maxLength: 8,
        },
      )
      .map((parts) =>
        Buffer.concat(
          parts.map(([type, stream, value, length]) =>
            Buffer.concat([
              written({ type: type as FrameType, id: stream, value, payload: NONE }),
              Buffer.alloc(length),
            ]),
          ),
        ),
      );
    fc.assert(
      fc.property(anyBytes, sizes, (bytes, pieces) => {
        assert.deepEqual(read(bytes, pieces), read(bytes, []));
      }),
      { numRuns: 300 },
    );
  });
});
