import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { responseFraming } from './body.ts';
import { type Field, parseFields } from './fields.ts';
import {
  HeadReader,
  parseRequestHead,
  parseResponseHead,
  parseServiceHead,
  type RequestHead,
} from './head.ts';

const LIMITS = { target: 8192, fields: 200 };

/** Fragments of valid and broken heads on which parsers are known to disagree. */
const fragment = fc.oneof(
  fc.constantFrom(
    'GET',
    ' ',
    '/x',
    'HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
    '\r\n',
    '\n',
    '\r',
    '\t',
    '\0',
    '\v',
    '\f',
    ':',
    'Host: a\r\n',
    'Content-Length: 1\r\n',
    'A : b\r\n',
    ' folded\r\n',
    ': empty\r\n',
    'a:\r\n',
    '\r\n\r\n',
    '#',
    '\x7f',
    '\x85',
    '\xa0',
    '\xff',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 99 \r\n',
  ),
  fc.string({ maxLength: 3 }),
);
const anyText = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(''));
const brokenRequest = anyText.map((middle) => `GET /x HTTP/1.1\r\nHost: a\r\n${middle}\r\n\r\n`);

const aHead = fc.constantFrom('GET / HTTP/1.1', 'GET / HTTP/1.1\r\nHost: a');

const tokenCharacters = "!#$%&'*+-.^_`|~0189AMZamz".split('');
const token = fc
  .array(fc.constantFrom(...tokenCharacters), { minLength: 1, maxLength: 8 })
  .map((all) => all.join(''));
const value = fc
  .array(fc.constantFrom(...'aZ0,;="\\ \t\x80\xa0\xff:/'.split('')), { maxLength: 10 })
  .map((all) => all.join(''));
const field = fc.tuple(token, fc.constantFrom('', ' ', '\t', ' \t '), value, fc.constantFrom('', ' ', '\t'));

describe('heads of any content', () => {
  it('are written again as the same request if accepted', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, brokenRequest), (text) => {
        const head = parseRequestHead(latin1(text), LIMITS);
        if (typeof head === 'string') return;
        const lines = head.fields.map(({ name, value: content }) => `${name}: ${content}\r\n`);
        const again = `${head.method} ${head.target} HTTP/1.${head.minor}\r\n${lines.join('')}\r\n`;
        assert.deepEqual(described(parseRequestHead(latin1(again), LIMITS)), described(head));
      }),
      { numRuns: 2000 },
    );
  });

  it('have no byte that another parser takes for the end of a line or a string if accepted', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, brokenRequest), (text) => {
        const request = parseRequestHead(latin1(text), LIMITS);
        if (typeof request === 'object') {
          assertWellFormed([request.target, ...request.fields.flatMap((entry) => [entry.name, entry.value])]);
          assert.doesNotMatch(request.target, /[\t #]/);
        }
        const response = parseResponseHead(latin1(text));
        if (response !== undefined)
          assertWellFormed([
            statusLine(response.bytes),
            ...response.fields.flatMap((entry) => [entry.name, entry.value]),
          ]);
      }),
      { numRuns: 2000 },
    );
  });

  it('are read back as written, without the white space around values', () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 6 }), (fields) => {
        const text = fields.map(
          ([name, before, content, after]) => `${name}:${before}${content}${after}\r\n`,
        );
        const read = parseFields(latin1(`${text.join('')}\r\n`), 0);
        assert.deepEqual(
          read?.map(texts),
          fields.map(([name, , content]) => [name, name.toLowerCase(), trim(content)]),
        );
      }),
    );
  });

  it('of a service are strict after they were accepted, in any pieces', () => {
    const ends = fc.constantFrom('\r\n', '\n', '\n', '\r', ' \n', '\r\r\n');
    const line = fc.oneof(
      fc.constantFrom(
        'Content-Length: 2',
        'content-length:2',
        'Content-Length: 2, 2',
        'Content-Length: 3',
        'A: b',
        ' c',
        'A : b',
        '',
      ),
      anyText,
    );
    const lines = fc.array(fc.tuple(line, ends), { maxLength: 6 });
    fc.assert(
      fc.property(
        lines,
        ends,
        anyText,
        fc.array(fc.integer({ min: 1, max: 20 })),
        (fields, first, rest, sizes) => {
          const text = ['HTTP/1.1 200 x', first, ...fields.flat(), '\n\n', rest].join('');
          const whole = readService(latin1(text), []);
          assert.deepEqual(readService(latin1(text), sizes), whole);
          if (typeof whole === 'string') return;
          const again = new HeadReader(9999).push(latin1(whole.head));
          assert.ok(typeof again === 'object' && again.rest.length === 0);
          assert.ok(parseResponseHead(again.head));
          assert.ok(!/\r(?!\n)|(?<!\r)\n/.test(whole.head), whole.head);
          const lengths = whole.head.toLowerCase().match(/^content-length:.*$/gm) ?? [];
          assert.ok(lengths.length <= 1, whole.head);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('are accepted or rejected the same in one piece or several', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyText, aHead),
        anyText,
        fc.array(fc.integer({ min: 1, max: 20 })),
        (first, second, sizes) => {
          const bytes = Buffer.from(`${first}\r\n\r\n${second}`, 'latin1');
          assert.deepEqual(readInPieces(bytes, sizes), readInPieces(bytes, []));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function texts({ name, lower, value: content }: Field): string[] {
  return [name, lower, content];
}

function described(head: RequestHead | string): unknown {
  if (typeof head === 'string') return head;
  return { method: head.method, target: head.target, minor: head.minor, fields: head.fields.map(texts) };
}

function statusLine(bytes: Buffer): string {
  return bytes.toString('latin1', 0, bytes.indexOf('\r\n'));
}

function assertWellFormed(parts: readonly string[]): void {
  for (const part of parts)
    assert.ok(![...Buffer.from(part, 'latin1')].some(isControl), JSON.stringify(part));
}

function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09) || byte === 0x7f;
}

/** A head of a service as it is passed on, and what follows it. */
function readService(bytes: Buffer, sizes: readonly number[]): { head: string; rest: string } | string {
  const reader = new HeadReader(9999, 'lenient');
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    const end = reader.push(bytes.subarray(at, at + size));
    at = Math.min(bytes.length, at + size);
    if (end === undefined) continue;
    const head = typeof end === 'string' ? undefined : parseServiceHead(end.head);
    if (typeof end === 'string' || head === undefined || responseFraming(head, 'GET') === undefined)
      return 'refused';
    return {
      head: head.bytes.toString('latin1'),
      rest: `${end.rest.toString('latin1')}${bytes.subarray(at).toString('latin1')}`,
    };
  }
  return 'incomplete';
}

/** Trims the white space of HTTP, which is less than that of JavaScript. */
function trim(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

/**
 * The first result for some bytes: the head and everything after it, or its rejection. Which of several faults of a
 * broken head is found, and where, may depend on the pieces.
 *
 * @param sizes of the pieces; the last piece is the rest
 */
function readInPieces(bytes: Buffer, sizes: readonly number[]): unknown {
  const reader = new HeadReader(60);
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    const end = reader.push(bytes.subarray(at, at + size));
    at = Math.min(bytes.length, at + size);
    if (end === undefined) continue;
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, LIMITS);
    if (typeof end === 'string' || typeof head === 'string') return 'refused';
    return {
      head: described(head),
      rest: `${end.rest.toString('latin1')}${bytes.subarray(at).toString('latin1')}`,
    };
  }
  return 'incomplete';
}
