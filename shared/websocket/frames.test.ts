import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { applyMask, frameHeaderSize, FrameReader, Opcode, type Role, writeFrameHeader } from './frames.ts';

function frame(opcode: number, payload: Buffer, { mask = 0x12345678, fin = true } = {}): Buffer {
  const size = frameHeaderSize(payload.length, mask === 0 ? 'server' : 'client');
  const bytes = Buffer.concat([Buffer.alloc(size), payload]);
  writeFrameHeader(bytes, opcode as Opcode, payload.length, mask);
  if (!fin) bytes[0] = (bytes[0] ?? 0) & 0x7f;
  if (mask !== 0) applyMask(bytes.subarray(size), mask, 0);
  return bytes;
}

/** Reads bytes in pieces, and returns the events. */
function read(
  bytes: Buffer,
  { pieces = bytes.length, role = 'server' }: { pieces?: number; role?: Role } = {},
) {
  const data: Buffer[] = [];
  const events: string[] = [];
  const reader = new FrameReader(role, {
    onPayload: (piece) => data.push(Buffer.from(piece)),
    onPing: (payload) => events.push(`ping ${payload.toString()}`),
    onClose: (code) => events.push(`close ${code}`),
    onProtocolError: (code) => events.push(`error ${code}`),
  });
  for (let at = 0; at < bytes.length; at += pieces) reader.push(Buffer.from(bytes.subarray(at, at + pieces)));
  return { data: Buffer.concat(data), events };
}

const text = (value: string) => Buffer.from(value);

/** The events of the handler, in order. */
function told(...frames: readonly Buffer[]): string[] {
  const events: string[] = [];
  const reader = new FrameReader('server', {
    onPayload: (piece) => events.push(piece.toString()),
    onPing: (payload) => events.push(`ping ${payload.toString()}`),
    onClose: (code) => events.push(`close ${code}`),
    onProtocolError: (code) => events.push(`error ${code}`),
  });
  reader.push(Buffer.concat(frames));
  return events;
}

describe('FrameReader', () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 100_001]) {
    it(`reads a message of ${length} bytes, whole and in pieces`, () => {
      const payload = Buffer.alloc(length, 'culvert');
      for (const pieces of [1, 3, 1000, 200_000]) {
        if (length > 1000 && pieces < 10) continue;
        const { data, events } = read(frame(Opcode.binary, payload), { pieces });
        assert.ok(data.equals(payload));
        assert.deepEqual(events, []);
      }
    });
  }

  it('reads fragments with control frames between them', () => {
    const bytes = Buffer.concat([
      frame(Opcode.binary, text('one '), { fin: false }),
      frame(Opcode.ping, text('hi')),
      frame(Opcode.continuation, text('two '), { fin: false }),
      frame(Opcode.pong, text('ignored')),
      frame(Opcode.continuation, text('three')),
      frame(Opcode.binary, text('')),
      frame(Opcode.close, Buffer.from([0x03, 0xe8])),
      frame(Opcode.binary, text('after the end')),
    ]);
    for (const pieces of [1, 2, 1000]) {
      const { data, events } = read(bytes, { pieces });
      assert.equal(data.toString(), 'one two three');
      assert.deepEqual(events, ['ping hi', 'close 1000']);
    }
  });

  it('reads a ping of up to 125 bytes (RFC 6455 section 5.5)', () => {
    const [most, more] = ['x'.repeat(125), 'x'.repeat(126)];
    assert.deepEqual(told(frame(Opcode.ping, text(most))), [`ping ${most}`]);
    assert.deepEqual(told(frame(Opcode.ping, text(more))), ['error 1002']);
  });

  it('does not keep the chunk with the start of a ping until its end arrives', () => {
    const pings: Buffer[] = [];
    const handler = { onPayload() {}, onPing: (payload: Buffer) => pings.push(payload), onClose() {} };
    const reader = new FrameReader('server', { ...handler, onProtocolError() {} });
    const bytes = Buffer.concat([
      frame(Opcode.binary, Buffer.alloc(60_000)),
      frame(Opcode.ping, text('hello')),
    ]);
    reader.push(bytes.subarray(0, -3));
    reader.push(bytes.subarray(-3, -2));
    reader.push(bytes.subarray(-2));
    assert.deepEqual(pings.map(String), ['hello']);
    assert.equal(pings[0]?.buffer.byteLength, 5);
  });

  it('reads nothing once it is stopped, including data that has arrived', () => {
    const events: string[] = [];
    const reader = new FrameReader('server', {
      onPayload: (piece) => events.push(piece.toString()),
      onPing() {
        reader.stop();
      },
      onClose() {},
      onProtocolError() {},
    });
    const data = (): Buffer => frame(Opcode.binary, text('data'));
    reader.push(Buffer.concat([data(), frame(Opcode.ping, text('')), data()]));
    reader.push(data());
    assert.deepEqual(events, ['data']);
  });

  describe('of a peer that may send text', () => {
    const limits = { bytes: 10, frames: 3 };

    function events(...frames: readonly Buffer[]): string[] {
      const found: string[] = [];
      const reader = new FrameReader(
        'server',
        {
          onPayload: (piece) => found.push(piece.toString()),
          onPing: () => found.push('ping'),
          onClose: () => found.push('close'),
          onProtocolError: (code) => found.push(`error ${code}`),
        },
        limits,
      );
      for (const each of frames) reader.push(Buffer.from(each));
      return found;
    }

    const part = (opcode: number, content: string) => frame(opcode, text(content), { fin: false });
    const last = frame(Opcode.continuation, text('e'));

    it('reads messages up to the limits, each counted from its start, with control frames between them', () => {
      const message = [part(Opcode.text, '123456789'), frame(Opcode.ping, text('')), part(0, ''), last];
      const parts = ['123456789', 'ping', 'e'];
      assert.deepEqual(events(...message, ...message, frame(Opcode.binary, text('0123456789'))), [
        ...parts,
        ...parts,
        '0123456789',
      ]);
    });

    it('refuses a message of more bytes with 1009, and one of more frames with 1008', () => {
      assert.deepEqual(events(frame(Opcode.text, text('0123456789a'))), [`error ${CloseCode.tooBig}`]);
      assert.deepEqual(events(part(Opcode.text, '0123456789'), last), ['0123456789', 'error 1009']);
      const empty = part(0, '');
      assert.deepEqual(events(part(Opcode.text, ''), empty, empty, empty), [
        `error ${CloseCode.policyViolation}`,
      ]);
    });
  });

  it('reads a Close frame without a code', () => {
    assert.deepEqual(read(frame(Opcode.close, text(''))).events, [`close ${CloseCode.noStatus}`]);
  });

  it('reads unmasked frames as a client', () => {
    assert.equal(read(frame(Opcode.binary, text('x'), { mask: 0 }), { role: 'client' }).data.toString(), 'x');
  });

  const broken: Record<string, [Buffer, number]> = {
    'an unmasked frame from a client': [frame(Opcode.binary, text('x'), { mask: 0 }), 1002],
    'a text message': [frame(Opcode.text, text('x')), 1003],
    'a reserved bit': [Buffer.from([0xc2, 0x80, 0, 0, 0, 0]), 1002],
    'an unknown opcode': [frame(3, text('x')), 1002],
    'an unknown control opcode': [frame(11, text('x')), 1002],
    'a fragmented control frame': [frame(Opcode.ping, text('x'), { fin: false }), 1002],
    'a continuation of nothing': [frame(Opcode.continuation, text('x')), 1002],
    'a new message inside another': [
      Buffer.concat([frame(Opcode.binary, text('x'), { fin: false }), frame(Opcode.binary, text('y'))]),
      1002,
    ],
    'a close code of one byte': [frame(Opcode.close, Buffer.from([3])), 1002],
    'a close code nobody may send': [frame(Opcode.close, Buffer.from([0x03, 0xed])), 1002],
    'a length beyond all sense': [
      Buffer.from([0x82, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]),
      1009,
    ],
  };
  for (const [what, [bytes, code]] of Object.entries(broken)) {
    it(`rejects ${what} with ${code}`, () => {
      assert.deepEqual(read(bytes).events, [`error ${code}`]);
    });
  }
});

describe('FrameReader, with data that arrives together', () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 12 });

  it('hands over the content of all messages together, regardless of their sizes', () => {
    fc.assert(
      fc.property(lengths, (sizes) => {
        const payloads = sizes.map((size, index) => String.fromCodePoint(97 + index).repeat(size));
        const content = payloads.join('');
        assert.deepEqual(
          told(...payloads.map((payload) => frame(Opcode.binary, text(payload)))),
          content === '' ? [] : [content],
        );
      }),
    );
  });

  it('reports control frames and broken ones in order', () => {
    assert.deepEqual(
      told(
        frame(Opcode.binary, text('a')),
        frame(Opcode.binary, text('b')),
        frame(Opcode.ping, text('1')),
        frame(Opcode.binary, text('c')),
        frame(Opcode.text, text('no')),
      ),
      ['ab', 'ping 1', 'c', `error ${CloseCode.unsupportedData}`],
    );
    assert.deepEqual(told(frame(Opcode.binary, text('a')), frame(Opcode.close, Buffer.from([0x03, 0xe8]))), [
      'a',
      'close 1000',
    ]);
  });
});

describe('applyMask', () => {
  it('applies the bytewise mask of RFC 6455 at every alignment, offset and length', () => {
    const mask = 0x9abcdef1 | 0;
    const key = [0xf1, 0xde, 0xbc, 0x9a];
    const memory = Buffer.alloc(1024);
    for (let start = 0; start < 5; start += 1) {
      // Short and long data is masked in two ways.
      for (const length of [...Array(20).keys(), 510, 511, 512, 513, 514, 515, 516, 517]) {
        for (let offset = 0; offset < 5; offset += 1) {
          memory.fill(0x5a);
          applyMask(memory.subarray(start, start + length), mask, offset);
          const expected = Buffer.alloc(1024, 0x5a);
          for (let index = 0; index < length; index += 1)
            expected[start + index] = 0x5a ^ (key[(offset + index) % 4] ?? 0);
          assert.ok(memory.equals(expected), `start ${start}, length ${length}, offset ${offset}`);
        }
      }
    }
  });
});
