/** Chunked bodies (RFC 9112 section 7.1) as they should be and as they must not be. The same for requests and responses. */
import { AFTER, type HostileMessage } from './case.ts';
import type { Envelope } from './framing.ts';

const WRONG_SIZES = [
  '0x7',
  '+7',
  '-7',
  '7 ',
  ' 7',
  '\t7',
  '7\t',
  '7\v',
  '7h',
  'g',
  '',
  '7,7',
  '7 7',
  '7\0',
  '\x007',
  '"7"',
  '7_0',
  '7.0',
  '\xb7',
  '10000000000000007',
  'fffffffffffffffff',
  '00000000000000000000000000000000007',
  '-0',
  '0x0',
  '+0',
];
const WRONG_EXTENSIONS = [
  ';',
  '; ',
  ';;',
  ';a;',
  ';=',
  ';a=',
  ';=b',
  ';a=b=c',
  ';a=[x',
  ';bad[=x',
  ';a="b',
  ';a="b"c',
  ';a=b"',
  ';a b',
  ';a\0',
  ';a=\x01',
  ';a="\0"',
  ';\xa0',
  ';a=\x7f',
  ';(a)',
  ';a,b',
  ' a',
  ':a',
  ',a',
  ';a\rb',
  ';a\nb',
  ';a="\r\n"',
];
const RIGHT_EXTENSIONS = [';a', ';a=b', ';a="b"', ';a="b;c"', ';a;b=c', ';a="\\""', ';a=0123'];

/** Chunked bodies that violate the grammar of RFC 9112 section 7.1, and some that do not. */
export function chunkCases(make: Envelope, hidden: string): HostileMessage[] {
  const coding = 'Transfer-Encoding: chunked\r\n';
  const after = `${AFTER}\r\n0\r\n\r\n${hidden}`;
  const broken = (what: string, body: string): HostileMessage => make(what, 'broken', coding, body);
  const dataEnds = ['', '\n', '\r', 'x\r\n', '\r\r\n', '\n\r\n', ' \r\n', '\r\0\n', '\0\r\n'];
  const sizeEnds = ['\n', '\r', '\r\r\n', '\n\r\n', '\r\0\n', '\0\r\n', '\x85'];
  const trailers = [
    `Host: ${AFTER}.example`,
    `Transfer-Encoding: ${AFTER}`,
    ` ${AFTER}: folded`,
    `X: ${AFTER}\n Y: z`,
    `X : ${AFTER}`,
    `: ${AFTER}`,
    AFTER,
    `X: ${AFTER}\0`,
    `X\0: ${AFTER}`,
    `X: \r${AFTER}`,
  ];
  return [
    ...WRONG_SIZES.map((size) => broken(`chunk size ${size}`, `5\r\nhello\r\n${size}\r\n${after}`)),
    ...WRONG_SIZES.map((size) => broken(`first chunk size ${size}`, `${size}\r\n${after}`)),
    ...WRONG_EXTENSIONS.map((text) =>
      broken(`chunk extension ${text}`, `5\r\nhello\r\n7${text}\r\n${after}`),
    ),
    ...WRONG_EXTENSIONS.map((text) => broken(`extension ${text} of the first chunk`, `7${text}\r\n${after}`)),
    broken('a chunk extension without an end', `5\r\nhello\r\n7;${'a'.repeat(70_000)}\r\n${after}`),
    ...dataEnds.map((end) => broken('an end of chunk data', `5\r\nhello${end}7\r\n${after}`)),
    ...sizeEnds.map((end) => broken('an end of a chunk size', `5\r\nhello\r\n7${end}${after}`)),
    ...trailers.map((line) => broken('a trailer', `5\r\nhello\r\n0\r\n${line}\r\n\r\n`)),
    ...RIGHT_EXTENSIONS.map((text) =>
      make(`chunk extension ${text}`, 'passed', coding, `5${text}\r\nhello\r\n0\r\n\r\n`),
    ),
    make('a trailer', 'passed', coding, '5\r\nhello\r\n0\r\nX: y\r\n\r\n'),
    make('capital digits and zeros', 'passed', coding, '00A\r\nhellohello\r\n000\r\n\r\n'),
  ];
}
