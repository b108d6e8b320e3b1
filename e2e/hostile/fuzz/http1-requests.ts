/** Mutated requests over HTTP/1.1: bytes as visitors send them, and the ways in which they are damaged. */
import { connect } from 'node:net';
import type { Random } from '../../support/random.ts';

/** ms within which a server has to respond. */
const VISIT_TIMEOUT_MS = 5000;

/**
 * Sends mutated requests on a new connection.
 *
 * @returns whether the connection ended in time
 */
export async function visitOverHttp1(port: number, random: Random, address: Address): Promise<boolean> {
  const bytes = Buffer.from(mutatedRequest(random, address), 'latin1');
  const cut = random.below(4) === 0 ? random.below(bytes.length) : bytes.length;
  return await visitOnce(port, bytes, cut);
}

/**
 * Sends bytes in up to two pieces, half-closes, and reads until the connection ends.
 *
 * @returns whether it ended in time
 */
function visitOnce(port: number, bytes: Buffer, cut: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => {
      resolve(false);
      socket.destroy();
    }, VISIT_TIMEOUT_MS);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
    socket.resume();
    socket.write(bytes.subarray(0, cut));
    if (cut === bytes.length) socket.end();
    else setImmediate(() => socket.end(bytes.subarray(cut)));
  });
}

/* Text is latin1, one character per byte. */

export interface Address {
  readonly slug: string;
  /** `Host` of the tunnel */
  readonly host: string;
  /** `Host` of the relay itself */
  readonly relayHost: string;
}

type Texts = readonly [string, ...string[]];
type Mutation = (text: string, random: Random, address: Address) => string;

/** Characters that a mutation may insert anywhere, because parsers disagree about their meaning. */
const CHARACTERS: Texts = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  '\v',
  '\f',
  ':',
  ',',
  ';',
  '0',
  '\x7f',
  '\x85',
  '\xa0',
  '\xff',
];
const LINE_ENDS: Texts = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', '\r\n ', '\r\n\t', ' \r\n', '\0\r\n', ''];
const FIELDS: Texts = [
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 60',
  'content-length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length:\v5',
  'Content-Length : 5',
  'Content-Length: 18446744073709551617',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding:\vchunked',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding\0: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Connection: close',
  'Connection: keep-alive, content-length, transfer-encoding',
  'Connection: host',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Connection: upgrade, http2-settings\r\nUpgrade: h2c',
  'Expect: 100-continue',
  'TE: trailers',
  'Trailer: Content-Length',
  'Host: other',
  'Host: localhost',
  'X-HTTP-Method-Override: PUT',
  ': nameless',
  'no colon',
];
const VERSIONS: Texts = [
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/11',
  '',
];
const CHUNK_SIZES: Texts = [
  '0',
  '1',
  '00',
  '0x5',
  '+5',
  '-1',
  '5 ',
  ' 5',
  '5;a',
  '5;\n',
  'fffffffffffffffff',
  '100000000',
  'g',
  '',
];

function mutationsRequests({ slug, host, relayHost }: Address): Texts {
  const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n`;
  const simple = `GET /a HTTP/1.1\r\nHost: ${host}\r\n`;
  const post = `POST /b?c=d HTTP/1.1\r\nHost: ${host}\r\n`;
  return [
    `${simple}\r\n`,
    `${simple}Accept: */*\r\nConnection: close\r\n\r\n`,
    `HEAD /a HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /a HTTP/1.0\r\nHost: ${host}\r\n\r\n${smuggled}`,
    `GET /t/${slug}/x HTTP/1.1\r\nHost: ${relayHost}\r\n\r\n`,
    `GET http://${host}/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `${simple}Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n${smuggled}`,
    `${post}Content-Length: 5\r\n\r\nhello`,
    `${post}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `${post}Expect: 100-continue\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;ext="a"\r\nhello\r\n${chunk}0\r\nX: y\r\n\r\n`,
    `${simple}\r\n${post}Content-Length: 5\r\n\r\nhello${simple}\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n${simple}\r\n${simple}\r\n`,
  ];
}

function splice(text: string, at: number, removed: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at + removed);
}

/** Replaces one match of the pattern, if there is any. */
function replaceOne(
  text: string,
  random: Random,
  pattern: RegExp,
  replace: (match: string) => string,
): string {
  const matches = [...text.matchAll(pattern)];
  const match = matches[random.below(matches.length)];
  return match === undefined ? text : splice(text, match.index, match[0].length, replace(match[0]));
}

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  function flipBit(text, random) {
    const at = random.below(text.length);
    return splice(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8))));
  },
  function insertCharacter(text, random) {
    return splice(text, random.below(text.length + 1), 0, random.pick(CHARACTERS));
  },
  function replaceCharacter(text, random) {
    return splice(text, random.below(text.length), 1, random.pick(CHARACTERS));
  },
  function remove(text, random) {
    return splice(text, random.below(text.length), 1 + random.below(4), '');
  },
  function cut(text, random) {
    return text.slice(0, 1 + random.below(text.length));
  },
  function repeatPart(text, random) {
    const at = random.below(text.length);
    return splice(text, at, 0, text.slice(at, at + 1 + random.below(40)));
  },
  function changeLineEnd(text, random) {
    return replaceOne(text, random, /\r\n/g, () => random.pick(LINE_ENDS));
  },
  function addField(text, random) {
    return replaceOne(text, random, /\r\n/g, () => `\r\n${random.pick(FIELDS)}\r\n`);
  },
  function repeatFramingField(text, random) {
    return replaceOne(
      text,
      random,
      /(?:content-length|transfer-encoding|host):[^\r]*\r\n/gi,
      (line) => line + line,
    );
  },
  function renameFramingField(text, random) {
    const renamed: readonly [(name: string) => string, ...((name: string) => string)[]] = [
      (name) => name.replace('-', '_'),
      (name) => `${name} `,
      (name) => ` ${name}`,
      (name) => `${name}\0`,
      (name) => name.toUpperCase(),
      (name) => `X-${name}`,
    ];
    return replaceOne(text, random, /content-length|transfer-encoding|host/gi, random.pick(renamed));
  },
  function changeLength(text, random) {
    return replaceOne(text, random, /(?<=content-length: )\d+/gi, (digits) => {
      const value = Number(digits) + random.below(7) - 3;
      return random.pick([
        String(value),
        `0${digits}`,
        `+${digits}`,
        `${digits}, ${digits}`,
        `${digits} ${value}`,
      ]);
    });
  },
  function changeChunkSize(text, random) {
    return replaceOne(text, random, /(?<=\r\n)[0-9a-f]+(?=[;\r])/gi, () => random.pick(CHUNK_SIZES));
  },
  function changeVersion(text, random) {
    return replaceOne(text, random, /HTTP\/1\.[01]/g, () => random.pick(VERSIONS));
  },
  function pipeline(text, random, address) {
    return text + random.pick(mutationsRequests(address));
  },
];

/** The bytes of one mutated request, possibly followed by others. */
function mutatedRequest(random: Random, address: Address): string {
  let text = random.pick(mutationsRequests(address));
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    text = random.pick(MUTATIONS)(text, random, address) || text;
  }
  return text;
}
