import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type Duplex, PassThrough, type Writable } from 'node:stream';
import * as fc from 'fast-check';
import { applyMask, frameHeaderSize, FrameReader, Opcode, type Role, writeFrameHeader } from './frames.ts';

/** The parts of `ws` that do not depend on sockets; exported, but missing from its types. */
interface Peer {
  readonly Receiver: new (options: { isServer: boolean; allowSynchronousEvents: boolean }) => Writable;
  readonly Sender: new (socket: Duplex) => {
    send(content: Buffer, options: object, done: () => void): void;
    ping(content: Buffer, masked: boolean, done: () => void): void;
    close(code: number, reason: Buffer, masked: boolean, done: () => void): void;
  };
}

const { Receiver, Sender } = createRequire(import.meta.url)('ws') as Peer;

const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 30 });
/** Lengths around the sizes at which the header grows, with few large ones. */
const payload = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0, max: 300 }) },
      { weight: 1, arbitrary: fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_001) },
    ),
    fc.integer({ min: 0, max: 255 }),
  )
  .map(([length, first]) =>
    Buffer.from(Uint8Array.from({ length }, (_, index) => (first + index * 7) & 0xff)),
  );
const mask = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }).filter((key) => key !== 0);

describe('frames of an independent peer', () => {
  it('are read as ws sent them, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(payload, { maxLength: 4 }),
        fc.constantFrom<Role>('client', 'server'),
        sizes,
        async (messages, role, pieces) => {
          const bytes = await sentByWs(messages, role === 'server');
          assert.deepEqual(read(role, bytes, pieces), [
            Buffer.concat(messages).toString('hex'),
            'ping 6869',
            'close 1000',
          ]);
        },
      ),
    );
  });

  it('are read by ws as they were written', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(payload, { maxLength: 4 }),
        fc.option(mask),
        sizes,
        async (messages, key, pieces) => {
          const bytes = Buffer.concat(messages.map((message) => frame(message, key ?? 0)));
          const seen = await readByWs(bytes, key !== null, pieces);
          assert.deepEqual(
            seen,
            messages.map((message) => message.toString('hex')),
          );
        },
      ),
    );
  });

  it('are unmasked correctly if masking and unmasking are split differently', () => {
    fc.assert(
      fc.property(
        payload,
        mask,
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 0, max: 3 }),
        (content, key, a, b, shift) => {
          // At any alignment of the underlying memory.
          const bytes = Buffer.alloc(content.length + shift).subarray(shift);
          content.copy(bytes);
          for (const cut of [a, b]) {
            const at = cut % (content.length + 1);
            applyMask(bytes.subarray(0, at), key, 0);
            applyMask(bytes.subarray(at), key, at);
          }
          assert.ok(bytes.equals(content));
        },
      ),
    );
  });

  it('are judged the same in one piece or several if their bytes are random', () => {
    const start = fc.constantFrom(
      [0x82, 0x81],
      [0x82, 0x02],
      [0x02, 0x80],
      [0x89, 0x81],
      [0x88, 0x82],
      [0x80, 0x81],
    );
    const anyBytes = fc
      .array(fc.tuple(start, fc.uint8Array({ maxLength: 8 })), { maxLength: 6 })
      .map((parts) => Buffer.from(parts.flatMap(([header, rest]) => [...header, ...rest])));
    fc.assert(
      fc.property(anyBytes, fc.constantFrom<Role>('client', 'server'), sizes, (bytes, role, pieces) => {
        assert.deepEqual(read(role, bytes, pieces), read(role, bytes, []));
      }),
      { numRuns: 3000 },
    );
  });
});

function frame(content: Buffer, key: number): Buffer {
  const size = frameHeaderSize(content.length, key === 0 ? 'server' : 'client');
  const bytes = Buffer.concat([Buffer.alloc(size), content]);
  writeFrameHeader(bytes, Opcode.binary, content.length, key);
  if (key !== 0) applyMask(bytes.subarray(size), key, 0);
  return bytes;
}

/** All content, then the other events. The reader gets copies, because it unmasks in place. */
function read(role: Role, bytes: Buffer, pieces: readonly number[]): string[] {
  const data: Buffer[] = [];
  const events: string[] = [];
  const reader = new FrameReader(role, {
    onPayload: (piece) => data.push(Buffer.from(piece)),
    onPing: (content) => events.push(`ping ${content.toString('hex')}`),
    onClose: (code) => events.push(`close ${code}`),
    onProtocolError: (code) => events.push(`error ${code}`),
  });
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    reader.push(Buffer.from(bytes.subarray(at, at + size)));
    at = Math.min(bytes.length, at + size);
  }
  return [Buffer.concat(data).toString('hex'), ...events];
}

/** The messages, a ping and a Close frame, as the peer writes them. */
async function sentByWs(messages: readonly Buffer[], masked: boolean): Promise<Buffer> {
  const socket = new PassThrough({ highWaterMark: 10_000_000 });
  const sender = new Sender(socket);
  for (const message of messages)
    sender.send(Buffer.from(message), { fin: true, binary: true, compress: false, mask: masked }, () => {});
  sender.ping(Buffer.from('hi'), masked, () => {});
  sender.close(1000, Buffer.from('bye'), masked, () => socket.end());
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** The messages the peer reads. */
async function readByWs(bytes: Buffer, masked: boolean, pieces: readonly number[]): Promise<string[]> {
  const receiver = new Receiver({ isServer: masked, allowSynchronousEvents: true });
  const seen: string[] = [];
  receiver.on('message', (message: Buffer) => seen.push(message.toString('hex')));
  const finished = new Promise((resolve, reject) => receiver.on('finish', resolve).on('error', reject));
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    if (at < bytes.length) receiver.write(Buffer.from(bytes.subarray(at, at + size)));
    at = Math.min(bytes.length, at + size);
  }
  receiver.end();
  await finished;
  return seen;
}
