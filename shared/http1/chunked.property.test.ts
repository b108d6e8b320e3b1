import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import {
  BodyError,
  type Framing,
  requestFraming,
  responseFraming,
  trackBody,
  trackServiceBody,
} from './body.ts';
import { parseRequestHead, parseResponseHead } from './head.ts';

const CHUNKED: Framing = { kind: 'chunked' };
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 });

const chunk = fc.tuple(
  fc.uint8Array({ minLength: 1, maxLength: 40 }),
  fc.constantFrom('', ';a', ' ; a=b', ';a="\xff"'),
  fc.constantFrom('', '0', '000'),
);
const trailers = fc.constantFrom('', 'A: b\r\n', 'A: b\r\nc:\r\n');

/** A valid chunked body, and its content. */
const chunkedBody = fc.tuple(fc.array(chunk, { maxLength: 5 }), trailers).map(([chunks, fields]) => {
  const parts = chunks.map(([content, extension, zeros]) => [
    Buffer.from(`${zeros}${content.length.toString(16)}${extension}\r\n`, 'latin1'),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  const content = Buffer.concat(chunks.map(([bytes]) => bytes));
  return { content, bytes: Buffer.concat([...parts.flat(), Buffer.from(`0\r\n${fields}\r\n`)]) };
});

interface Followed {
  readonly end: 'done' | 'open' | 'broken';
  /** bytes of the body up to its end; 0 for a broken one, whose length is undefined */
  readonly length: number;
  readonly content: string;
}

/** Parses a body in pieces; the last piece is the rest. */
function follow(framing: Framing, bytes: Buffer, pieces: readonly number[]): Followed {
  const content: Buffer[] = [];
  const body = trackBody(framing, (piece) => content.push(Buffer.from(piece)));
  let at = 0;
  try {
    for (const size of [...pieces, bytes.length]) {
      if (body.done) break;
      const piece = bytes.subarray(at, at + size);
      at += body.advance(piece, 0);
    }
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    return { end: 'broken', length: 0, content: '' };
  }
  const end = body.done ? 'done' : 'open';
  return { end, length: at, content: Buffer.concat(content).toString('hex') };
}

/** The same for a body of a service, and what the visitor gets. */
function reframe(bytes: Buffer, pieces: readonly number[]): Followed & { readonly wire: Buffer } {
  const [wire, content]: [Buffer[], Buffer[]] = [[], []];
  const body = trackServiceBody(CHUNKED, {
    onWire: (piece) => wire.push(Buffer.from(piece)),
    onPayload: (piece) => content.push(Buffer.from(piece)),
  });
  let at = 0;
  let end: Followed['end'] = 'open';
  try {
    for (const size of [...pieces, bytes.length]) {
      if (body.done) break;
      at += body.advance(bytes.subarray(at, at + size), 0);
    }
    if (body.done) end = 'done';
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    end = 'broken';
  }
  const length = end === 'broken' ? 0 : at;
  return { end, length, content: Buffer.concat(content).toString('hex'), wire: Buffer.concat(wire) };
}

describe('bodies in any pieces', () => {
  it('have the right end and content if they are chunked', () => {
    fc.assert(
      fc.property(
        chunkedBody,
        fc.uint8Array({ maxLength: 20 }),
        sizes,
        ({ content, bytes }, next, pieces) => {
          assert.deepEqual(follow(CHUNKED, Buffer.concat([bytes, next]), pieces), {
            end: 'done',
            length: bytes.length,
            content: content.toString('hex'),
          });
        },
      ),
    );
  });

  it('are never complete if they are chunked and cut short', () => {
    fc.assert(
      fc.property(chunkedBody, fc.nat(), sizes, ({ bytes }, cut, pieces) => {
        assert.equal(follow(CHUNKED, bytes.subarray(0, cut % bytes.length), pieces).end, 'open');
      }),
    );
  });

  it('are judged the same in one piece or several if they are damaged', () => {
    const damage = fc.tuple(fc.nat(), fc.constantFrom(...'\r\n;0aZ \t-+x\0\xff'.split('')), fc.boolean());
    fc.assert(
      fc.property(chunkedBody, fc.array(damage, { maxLength: 3 }), sizes, ({ bytes }, changes, pieces) => {
        let damaged = bytes;
        for (const [where, character, inserted] of changes) {
          const at = where % damaged.length;
          const rest = damaged.subarray(inserted ? at : at + 1);
          damaged = Buffer.concat([damaged.subarray(0, at), Buffer.from(character, 'latin1'), rest]);
        }
        assert.deepEqual(follow(CHUNKED, damaged, pieces), follow(CHUNKED, damaged, []));
      }),
      { numRuns: 3000 },
    );
  });

  it('are framed anew if a service wrote them, the same in any pieces, and end where they did', () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.constantFrom('\r', '\n', '\r\n', ' ', '\t', ';', '0', 'a', '\0'),
      fc.boolean(),
    );
    fc.assert(
      fc.property(chunkedBody, fc.array(damage, { maxLength: 4 }), sizes, ({ bytes }, changes, pieces) => {
        let sent = Buffer.from(
          bytes.toString('latin1').replaceAll('\r\n', changes.length % 2 === 0 ? '\n' : '\r\n'),
          'latin1',
        );
        for (const [where, text, inserted] of changes) {
          const at = where % sent.length;
          sent = Buffer.concat([
            sent.subarray(0, at),
            Buffer.from(text, 'latin1'),
            sent.subarray(inserted ? at : at + 1),
          ]);
        }
        const whole = reframe(sent, []);
        const split = reframe(sent, pieces);
        assert.deepEqual([split.end, split.length], [whole.end, whole.length]);
        if (whole.end !== 'broken') assert.equal(split.wire.toString('hex'), whole.wire.toString('hex'));
        for (const { wire, end, content } of [whole, split]) {
          const strict = follow(CHUNKED, wire, []);
          // Of a broken one, the visitor may have the part before that.
          if (end === 'broken') assert.notEqual(strict.end, 'done');
          else assert.deepEqual([strict.end, strict.content, strict.length], [end, content, wire.length]);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('end after exactly their declared length', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.uint8Array({ maxLength: 60 }),
        sizes,
        (length, all, pieces) => {
          const followed = follow({ kind: 'length', length }, Buffer.from(all), pieces);
          assert.equal(followed.length, Math.min(length, all.length));
          assert.equal(followed.end, all.length >= length ? 'done' : 'open');
        },
      ),
    );
  });
});

describe('framing from any declaration', () => {
  const lengthField = fc
    .tuple(
      fc.constantFrom('Content-Length', 'content-length', 'CONTENT-LENGTH'),
      fc.oneof(
        fc.nat().map(String),
        fc.constantFrom('', '00', '+1', '-1', '1,1', '1, 2', '0x10', '1e3', '1.0', '１', '9'.repeat(16)),
      ),
    )
    .map((parts) => parts.join(': '));
  const codingField = fc
    .tuple(
      fc.constantFrom('Transfer-Encoding', 'transfer-encoding', 'Transfer_Encoding'),
      fc.constantFrom(
        'chunked',
        'Chunked',
        'gzip',
        'gzip, chunked',
        'chunked, chunked',
        ',chunked',
        '',
        'identity',
      ),
    )
    .map((parts) => parts.join(': '));
  const declared = fc
    .array(fc.oneof(lengthField, codingField), { maxLength: 3 })
    .map((lines) => lines.map((line) => `${line}\r\n`).join(''));

  it('is unique for a request, or rejected', () => {
    fc.assert(
      fc.property(declared, fc.constantFrom(0, 1), (lines, minor) => {
        const text = `POST / HTTP/1.${minor}\r\n${lines}\r\n`;
        const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 100, fields: 100 });
        if (typeof head === 'string') return;
        const framing = requestFraming(head);
        if (typeof framing === 'string') return;
        const lengths = head.fields.filter(({ lower }) => lower === 'content-length');
        const codings = head.fields.filter(({ lower }) => lower === 'transfer-encoding');
        assert.ok(lengths.length + codings.length <= 1);
        if (framing.kind === 'chunked') {
          assert.equal(minor, 1);
          assert.equal(codings[0]?.value.toLowerCase(), 'chunked');
        } else {
          assert.equal(codings.length, 0);
          const length = framing.kind === 'length' ? framing.length : 0;
          assert.equal(lengths[0]?.value ?? '0', String(length));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('is rejected for a response with both declarations, or one of them twice', () => {
    fc.assert(
      fc.property(
        declared,
        fc.constantFrom(200, 204, 304, 100),
        fc.constantFrom('GET', 'HEAD'),
        (lines, status, method) => {
          const head = parseResponseHead(Buffer.from(`HTTP/1.1 ${status} x\r\n${lines}\r\n`, 'latin1'));
          if (head === undefined) return;
          const declaring = head.fields.filter(
            ({ lower }) => lower === 'content-length' || lower === 'transfer-encoding',
          );
          const framing = responseFraming(head, method);
          if (declaring.length > 1) assert.equal(framing, undefined);
          else if (framing !== undefined && (method === 'HEAD' || status !== 200))
            assert.equal(framing.kind, 'none');
        },
      ),
    );
  });
});
