/**
 * Fields that say how long a message is, in every way in which parsers were found to differ. The same for requests and
 * responses.
 */
import { type Fate, type HostileMessage } from './case.ts';

/** Makes a message of framing fields and a body. */
export type Envelope = (what: string, fate: Fate, fields: string, body: string) => HostileMessage;

const WRONG_LENGTHS = [
  '+5',
  '-5',
  '05',
  '0x5',
  '5.0',
  '5e0',
  '5 5',
  '5,5',
  '5, 5',
  '5,',
  ',5',
  '5;',
  '"5"',
  "'5'",
  '5\t5',
  '5\v',
  '5\0',
  '\x0c5',
  '5_0',
  '5h',
  'five',
  '\xd9\xa5',
  '\xb2',
  '\xa05',
  '5\xa0',
  '',
  ' ',
  '-0',
  '00',
  '0, 5',
  '5, 0',
  '9007199254740993',
  '18446744073709551616',
  '18446744073709551621',
  '99999999999999999999999999999999',
];
const WRONG_CODINGS = [
  'identity',
  'gzip',
  'xchunked',
  'chunkedx',
  'chunked, identity',
  'identity, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'chunked, chunked',
  ',chunked',
  'chunked,',
  'chunked,,',
  '"chunked"',
  "'chunked'",
  'chunked;q=1',
  'chunked;',
  'chunked chunked',
  'chun\tked',
  'chunked\v',
  '\vchunked',
  '\x0cchunked',
  'chunked\0',
  '\0chunked',
  'chunked\xa0',
  '\xa0chunked',
  'chunked\x85',
  'chunked\x7f',
  'cow',
  '',
  ' ',
  'chu\xadnked',
  '\xef\xbb\xbfchunked',
  '*',
  'trailers',
  'deflate,chunked',
];
const CODING_SPELLINGS = ['chunked', 'Chunked', 'CHUNKED', '\tchunked', 'chunked ', '   chunked\t'];
/** What may be taken for the name of a framing field; each is either refused or another field. */
const NAME_CHANGES: readonly (readonly [string, (name: string) => string])[] = [
  ['a space before the colon', (name) => `${name} `],
  ['a tab before the colon', (name) => `${name}\t`],
  ['a space before the name', (name) => ` ${name}`],
  ['a tab before the name', (name) => `\t${name}`],
  ['NUL behind the name', (name) => `${name}\0`],
  ['NUL before the name', (name) => `\0${name}`],
  ['a vertical tab behind the name', (name) => `${name}\v`],
  ['a carriage return before the name', (name) => `\r${name}`],
  ['a quoted name', (name) => `"${name}"`],
  ['a no-break space behind the name', (name) => `${name}\xa0`],
  ['a byte order mark before the name', (name) => `\xef\xbb\xbf${name}`],
  ['a slash in the name', (name) => name.replace('-', '/')],
  ['a space in the name', (name) => name.replace('-', ' ')],
  ['a soft hyphen in the name', (name) => name.replace('-', '\xad')],
  ['a long s in the name', (name) => `\xc5\xbf${name}`],
  ['brackets around the name', (name) => `(${name})`],
  ['a backspace in the name', (name) => `x\b${name}`],
  ['a delete in the name', (name) => `${name}\x7f`],
];

/**
 * @param make wraps fields and a body
 * @param hidden what a body hides: to one reader it is a body, to another the next message
 */
export function framingCases(make: Envelope, hidden: string): HostileMessage[] {
  const length = `Content-Length: ${hidden.length}\r\n`;
  const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
  const coding = 'Transfer-Encoding: chunked\r\n';
  return [
    ...bothWays(make, hidden, chunk),
    ...WRONG_LENGTHS.flatMap((value) => [
      make(`length ${value}`, 'refused', `Content-Length: ${value}\r\n`, hidden),
      make(`a length, then ${value}`, 'refused', `${length}Content-Length: ${value}\r\n`, hidden),
      make(`${value}, then a length`, 'refused', `Content-Length:${value}\r\n${length}`, hidden),
    ]),
    ...WRONG_CODINGS.flatMap((value) => [
      make(`coding ${value}`, 'refused', `Transfer-Encoding: ${value}\r\n`, chunk),
      make(`chunked, then ${value}`, 'refused', `${coding}Transfer-Encoding: ${value}\r\n`, chunk),
      make(`${value}, then chunked`, 'refused', `Transfer-Encoding: ${value}\r\n${coding}`, chunk),
      make(`a length and ${value}`, 'refused', `${length}Transfer-Encoding: ${value}\r\n`, hidden),
    ]),
    make('two equal lengths', 'refused', length + length, hidden),
    make('two lengths', 'refused', `Content-Length: 0\r\n${length}`, hidden),
    make('two lengths, the longer first', 'refused', `${length}Content-Length: 0\r\n`, hidden),
    make('twice chunked', 'refused', coding + coding, chunk),
    ...NAME_CHANGES.flatMap(([what, change]) => [
      make(`${what}, length`, 'refused', `${change('Content-Length')}: ${hidden.length}\r\n`, hidden),
      make(`${what}, length 0`, 'refused', `${length}${change('Content-Length')}: 0\r\n`, hidden),
      make(`${what}, coding`, 'refused', `${change('Transfer-Encoding')}: chunked\r\n`, chunk),
      make(
        `${what}, coding beside a length`,
        'refused',
        `${length}${change('Transfer-Encoding')}: chunked\r\n`,
        hidden,
      ),
    ]),
    ...folded(make, hidden, chunk),
    // To most a letter beyond ASCII, to some the end of a line.
    make('a coding behind NEL', 'passed', `${length}X: y\x85Transfer-Encoding: chunked\r\n`, hidden),
    make('a length behind NEL', 'passed', `X: y\x85${length}`, hidden),
    make('a length', 'passed', length, hidden),
    ...CODING_SPELLINGS.map((value) =>
      make(`coding ${value}`, 'passed', `Transfer-Encoding:${value}\r\n`, chunk),
    ),
  ];
}

/** Length and coding together, in either order. */
function bothWays(make: Envelope, hidden: string, chunk: string): HostileMessage[] {
  const shortened = `0\r\n\r\n${hidden}`;
  const lengths = [0, 1, 4, 6, hidden.length, chunk.length, shortened.length];
  return lengths.flatMap((length) =>
    ['Transfer-Encoding: chunked\r\n', 'transfer-encoding:CHUNKED\r\n'].flatMap((coding) =>
      [chunk, shortened].flatMap((body) => {
        const field = `Content-Length: ${length}\r\n`;
        return [
          make(`length ${length} before a coding`, 'refused', field + coding, body),
          make(`length ${length} behind a coding`, 'refused', coding + field, body),
        ];
      }),
    ),
  );
}

/** Lines that continue on the next one, and lines that end in another way than they should. */
function folded(make: Envelope, hidden: string, chunk: string): HostileMessage[] {
  const length = `Content-Length: ${hidden.length}`;
  const folds = ['\r\n ', '\r\n\t', '\n ', '\n\t', '\r ', '\r\n \r\n ', ' \r\n '];
  const breaks = ['\n', '\r', '\r\r\n', '\n\r', '\n\n', '\r\n\n', '\r\0\n', '\x0b\r\n'];
  return [
    ...folds.flatMap((fold) => [
      make('a folded coding', 'refused', `Transfer-Encoding:${fold}chunked\r\n`, chunk),
      make('a folded length', 'refused', `Content-Length:${fold}${hidden.length}\r\n`, hidden),
      make('a coding in a fold', 'refused', `${length}\r\nX: y${fold}Transfer-Encoding: chunked\r\n`, hidden),
      make('a fold', 'refused', `${length}\r\nX: y${fold}z\r\n`, hidden),
    ]),
    ...breaks.flatMap((end) => [
      make(
        'a coding behind a break',
        'refused',
        `${length}\r\nX: y${end}Transfer-Encoding: chunked\r\n`,
        hidden,
      ),
      make('a length behind a break', 'refused', `X: y${end}${length}\r\n`, hidden),
      make('a break behind a length', 'refused', `${length}${end}X: y\r\n`, hidden),
    ]),
  ];
}
