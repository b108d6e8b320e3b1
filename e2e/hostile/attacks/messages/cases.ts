/**
 * A message written by an attacker, and its permitted outcomes by RFC 9112 and protocol.md. Text is latin1, one
 * character per byte.
 */

/**
 * - `refused`: ambiguous; no part of it may be forwarded
 * - `broken`: its head is valid; nothing after the ambiguous part may be forwarded
 * - `passed`: valid, if unusual; it has to be forwarded
 * - `any`: it may be forwarded or refused, as long as all parsers agree
 * - `mended`: responses only; it has to be forwarded, in strict form
 */
export type Fate = 'refused' | 'broken' | 'passed' | 'any' | 'mended';

export interface HostileMessage {
  /** description of the attempt */
  readonly what: string;
  readonly fate: Fate;
  /** contains {@link MAIN}, {@link AFTER} and {@link CANARY} */
  readonly text: string;
  /** method of the request, for responses */
  readonly method?: string;
}

/** Placeholder for the number of a message. All numbers have the same length, so that Content-Length stays right. */
const NUMBER = 'NNNNNN';
/** Marks the message. */
export const MAIN = `m${NUMBER}`;
/** Marks the part after the ambiguous one. */
export const AFTER = `a${NUMBER}`;
/** Marks the message that is hidden in the body. */
export const CANARY = `s${NUMBER}`;
/** Where the sender pauses before it continues. */
export const PAUSE = '…';
/** Any mark, with its kind and number. */
export const MARK = /\b([mas])(\d{6})\b/g;

/** The bytes of a message with its number filled in. */
export function numbered(text: string, number: number): Buffer {
  return Buffer.from(text.replaceAll(NUMBER, String(number).padStart(NUMBER.length, '0')), 'latin1');
}

export function message(what: string, fate: Fate, text: string): HostileMessage {
  return { what, fate, text };
}

/** The words of a text, which are separated by spaces and line feeds only. */
export function words(text: string): string[] {
  return text.split(/[ \n]+/).filter((word) => word !== '');
}

/** Removes messages with the same text as another one. */
export function distinct(messages: readonly HostileMessage[]): HostileMessage[] {
  return [...new Map(messages.map((each) => [`${each.method ?? ''} ${each.text}`, each])).values()];
}

/** Every control character, including DEL. */
export const CONTROLS: readonly string[] = [...Array(32).keys(), 127].map((code) =>
  String.fromCharCode(code),
);

/** A character in printable form for reports. */
export function shown(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/*
 * Fields that determine the length of a message, in every form in which parsers were found to differ. The same for
 * requests and responses.
 */

/** Builds a message from framing fields and a body. */
export type Envelope = (what: string, fate: Fate, fields: string, body: string) => HostileMessage;

const WRONG_LENGTHS = [
  ...words(`
    +5 -5 05 0x5 5.0 5e0 5,5 5, ,5 5; "5" '5' 5\t5 5\v 5\0 \x0c5 5_0 5h five \xd9\xa5 \xb2 \xa05 5\xa0
    -0 00 9007199254740993 18446744073709551616 18446744073709551621 99999999999999999999999999999999
  `),
  '5 5',
  '5, 5',
  '',
  ' ',
  '0, 5',
  '5, 0',
];
const WRONG_CODINGS = [
  ...words(`
    identity gzip xchunked chunkedx ,chunked chunked, chunked,, "chunked" 'chunked' chunked;q=1 chunked;
    chun\tked chunked\v \vchunked \x0cchunked chunked\0 \0chunked chunked\xa0 \xa0chunked chunked\x85
    chunked\x7f cow chu\xadnked \xef\xbb\xbfchunked * trailers deflate,chunked
  `),
  'chunked, identity',
  'identity, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'chunked, chunked',
  'chunked chunked',
  '',
  ' ',
];
const CODING_SPELLINGS = ['chunked', 'Chunked', 'CHUNKED', '\tchunked', 'chunked ', '   chunked\t'];
/** Names that resemble a framing field. Each is either refused or a different field. */
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
 * @param hidden content that one reader takes for a body and another for the next message
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
    // Most parsers see a letter beyond ASCII, some the end of a line.
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

/** Folded lines, and lines with wrong terminators. */
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
        `a coding behind the break ${shown(end)}`,
        'refused',
        `${length}\r\nX: y${end}Transfer-Encoding: chunked\r\n`,
        hidden,
      ),
      make(`a length behind the break ${shown(end)}`, 'refused', `X: y${end}${length}\r\n`, hidden),
      make(`the break ${shown(end)} behind a length`, 'refused', `${length}${end}X: y\r\n`, hidden),
    ]),
  ];
}

/* Chunked bodies (RFC 9112 section 7.1), valid and invalid. The same for requests and responses. */

const WRONG_SIZES = [
  ...words(`
    0x7 +7 -7 \t7 7\t 7\v 7h g 7,7 7\0 \x007 "7" 7_0 7.0 \xb7 10000000000000007 fffffffffffffffff
    00000000000000000000000000000000007 -0 0x0 +0
  `),
  '7 ',
  ' 7',
  '',
  '7 7',
];
const WRONG_EXTENSIONS = [
  ...words(`
    ; ;; ;a; ;= ;a= ;=b ;a=b=c ;a=[x ;bad[=x ;a="b ;a="b"c ;a=b" ;a\0 ;a=\x01 ;a="\0" ;\xa0 ;a=\x7f ;(a)
    ;a,b :a ,a ;a\rb
  `),
  '; ',
  ';a b',
  ' a',
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
    ...WRONG_SIZES.map((size) => broken(`chunk size ${shown(size)}`, `5\r\nhello\r\n${size}\r\n${after}`)),
    ...WRONG_SIZES.map((size) => broken(`first chunk size ${shown(size)}`, `${size}\r\n${after}`)),
    ...WRONG_EXTENSIONS.map((text) =>
      broken(`chunk extension ${text}`, `5\r\nhello\r\n7${text}\r\n${after}`),
    ),
    ...WRONG_EXTENSIONS.map((text) => broken(`extension ${text} of the first chunk`, `7${text}\r\n${after}`)),
    broken('a chunk extension without an end', `5\r\nhello\r\n7;${'a'.repeat(70_000)}\r\n${after}`),
    ...dataEnds.map((end) => broken(`chunk data ends in ${shown(end)}`, `5\r\nhello${end}7\r\n${after}`)),
    ...sizeEnds.map((end) => broken(`a chunk size ends in ${shown(end)}`, `5\r\nhello\r\n7${end}${after}`)),
    ...trailers.map((line) => broken('a trailer', `5\r\nhello\r\n0\r\n${line}\r\n\r\n`)),
    ...RIGHT_EXTENSIONS.map((text) =>
      make(`chunk extension ${text}`, 'passed', coding, `5${text}\r\nhello\r\n0\r\n\r\n`),
    ),
    make('a trailer', 'passed', coding, '5\r\nhello\r\n0\r\nX: y\r\n\r\n'),
    make('capital digits and zeros', 'passed', coding, '00A\r\nhellohello\r\n000\r\n\r\n'),
  ];
}
