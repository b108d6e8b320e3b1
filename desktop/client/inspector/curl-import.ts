/** Parses a `curl` command line, from a browser or {@link curlCommand}, into the request that curl would send. */
import { parseArgs } from 'node:util';
import { toMessage, type MessageCode } from '../messages.ts';
import { CUT_NOTICE } from './curl.ts';
import { type ImportedRequest, ImportRefused, isOwnField, percentEncoded, targetOf } from './edit.ts';

/** How {@link curlCommand} passes a body that does not fit into a shell word. */
const PIPED = /^((?:\s|#[^\n]*\n)*)echo ([A-Za-z\d+/=]+) \| base64 -d \| (?=curl\b)/;

/** Options with a value, and others, as `short:long` or `long`. Those that are not read below only affect the connection, or the handling of the response. */
const VALUED =
  'X:request H:header d:data data-ascii data-binary data-raw data-urlencode json u:user b:cookie A:user-agent ' +
  'e:referer url request-target o:output m:max-time connect-timeout resolve connect-to w:write-out retry x:proxy ' +
  'noproxy cacert max-redirs limit-rate';
const FLAGS =
  'G:get I:head compressed g:globoff s:silent S:show-error v:verbose k:insecure L:location i:include show-headers ' +
  'f:fail fail-with-body N:no-buffer #:progress-bar no-progress-meter 0:http1.0 http1.1 http2 http3 path-as-is ' +
  '4:ipv4 6:ipv6 O:remote-name tlsv1.2 tlsv1.3';
const OPTIONS = { ...optionsOf(VALUED, 'string'), ...optionsOf(FLAGS, 'boolean') };

function optionsOf<T extends 'string' | 'boolean'>(
  names: string,
  type: T,
): Record<string, { type: T; short?: string }> {
  return Object.fromEntries(
    names.split(' ').map((name) => {
      const [short, long] = name.split(':');
      return long === undefined ? [name, { type }] : [long, { type, short }];
    }),
  );
}

/**
 * Reads no files and executes nothing.
 *
 * @throws ImportRefused
 */
export function importCurl(text: string): ImportedRequest {
  if (/^\s*curl(?:\.exe)?\s+\^"/.test(text)) throw refused('import.windowsCommand');
  const piped = PIPED.exec(text);
  const input = piped?.[2] === undefined ? undefined : Buffer.from(piped[2], 'base64').toString('latin1');
  const [program, ...words] = shellWords(piped === null ? text : text.slice(piped[0].length));
  if (program !== 'curl') throw refused('import.notCurl');
  return { ...requestOf(words, input), isCut: text.startsWith(CUT_NOTICE), response: undefined };
}

/** @param input data piped into the command */
function requestOf(
  args: readonly string[],
  input: string | undefined,
): Omit<ImportedRequest, 'isCut' | 'response'> {
  const headers = new CurlHeaders();
  const urls: string[] = [];
  const flags = new Set<string>();
  let method: string | undefined;
  let wanted: string | undefined;
  /** one character per byte */
  let body: string | undefined;
  let isJson = false;
  const { tokens } = parseArgs({
    args,
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') urls.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value = '' } = token;
    const isJoined = token.inlineValue === true && rawName.startsWith('--');
    if (!Object.hasOwn(OPTIONS, name) || isJoined)
      throw refused(notTaken(rawName), { option: isJoined ? `${rawName}=${value}` : rawName });
    if (OPTIONS[name]?.type === 'boolean') flags.add(name);
    else if (token.value === undefined) throw refused('import.noValue', { option: rawName });
    switch (name) {
      case 'request':
        method = value;
        break;
      case 'header':
        headers.custom(value);
        break;
      case 'user':
        headers.usual(
          'Authorization',
          `Basic ${Buffer.from(withPassword(value), 'latin1').toString('base64')}`,
        );
        break;
      case 'cookie':
        if (!value.includes('=')) throw refused('import.optionFile', { option: '-b', value });
        headers.usual('Cookie', value);
        break;
      case 'user-agent':
        headers.usual('User-Agent', value);
        break;
      case 'referer':
        headers.usual('Referer', value);
        break;
      case 'url':
        urls.push(value);
        break;
      case 'request-target':
        wanted = value;
        break;
      case 'json':
        isJson = true;
        body = (body ?? '') + readData(value, input);
        break;
      case 'data':
      case 'data-ascii':
      case 'data-binary':
        body = joined(body, readData(value, input));
        break;
      case 'data-raw':
        body = joined(body, value);
        break;
      case 'data-urlencode':
        body = joined(body, urlEncoded(value));
    }
  }
  const [url, ...more] = urls;
  if (url === undefined) throw refused('import.noAddress');
  if (more.length > 0) throw refused('import.severalAddresses');
  const isQuery = flags.has('get');
  if (isJson) {
    headers.usual('Content-Type', 'application/json');
    headers.usual('Accept', 'application/json');
  } else if (body !== undefined && !isQuery)
    headers.usual('Content-Type', 'application/x-www-form-urlencoded');
  headers.usual('User-Agent', 'curl');
  headers.usual('Accept', '*/*');
  if (flags.has('compressed')) headers.usual('Accept-Encoding', 'gzip, deflate, br');
  // Brackets and braces would be a pattern for several addresses; browsers escape them with a backslash.
  const address = flags.has('globoff') ? url : url.replaceAll(/\\([[\]{}])/g, '$1');
  const target = wanted ?? targetOf(percentEncoded(address));
  const usual = flags.has('head') ? 'HEAD' : body !== undefined && !isQuery ? 'POST' : 'GET';
  return {
    method: method ?? usual,
    target: isQuery && body !== undefined ? withQuery(target, body) : target,
    fields: headers.fields,
    body: isQuery ? new Uint8Array() : Uint8Array.from(Buffer.from(body ?? '', 'latin1')),
  };
}

/** The headers of a request. Headers given with -H replace the defaults of curl. */
class CurlHeaders {
  readonly #custom: (readonly [string, string])[] = [];
  readonly #named = new Set<string>();
  readonly #usual = new Map<string, readonly [string, string]>();

  get fields(): (readonly [string, string])[] {
    const usual = [...this.#usual].filter(([lower]) => !this.#named.has(lower)).map(([, field]) => field);
    return [...this.#custom, ...usual].filter(([name]) => !isOwnField(name));
  }

  /** `Name: value`; `Name:` removes a default, and `Name;` is a header without a value. */
  custom(text: string): void {
    if (text.startsWith('@')) throw refused('import.optionFile', { option: '-H', value: text });
    const end = text.search(/[:;]/);
    // Skips pseudo-headers of HTTP/2 and anything without a colon, as curl does.
    if (end <= 0) return;
    const [name, value] = [text.slice(0, end).trim(), text.slice(end + 1).trim()];
    this.#named.add(name.toLowerCase());
    if (value !== '' || text.charAt(end) === ';') this.#custom.push([name, value]);
  }

  /** A default of curl, unless it was given; the first of a name counts. */
  usual(name: string, value: string): void {
    const lower = name.toLowerCase();
    if (!this.#usual.has(lower)) this.#usual.set(lower, [name, value]);
  }
}

function withQuery(target: string, query: string): string {
  return target + (target.includes('?') ? '&' : '?') + percentEncoded(query);
}

/** curl would prompt for a missing password. */
function withPassword(user: string): string {
  return user.includes(':') ? user : `${user}:`;
}

function notTaken(name: string): MessageCode {
  if (/^(?:-F|--form|--form-string)$/.test(name)) return 'import.optionForm';
  if (/^(?:-T|--upload-file|-K|--config)$/.test(name)) return 'import.optionReads';
  return name === '--next' || name === '-:' ? 'import.optionNext' : 'import.option';
}

function joined(body: string | undefined, data: string): string {
  return body === undefined ? data : `${body}&${data}`;
}

/** @throws ImportRefused for data in a file */
function readData(value: string, input: string | undefined): string {
  if (value === '@-' && input !== undefined) return input;
  if (value.startsWith('@')) throw refused('import.dataFile', { value });
  return value;
}

/** `content`, `=content` or `name=content`, of which the content is encoded. `@file` and `name@file` are not read. */
function urlEncoded(value: string): string {
  const at = value.search(/[=@]/);
  if (value.charAt(at) === '@') throw refused('import.dataFile', { value });
  const [name, content] = at === -1 ? ['', value] : [value.slice(0, at), value.slice(at + 1)];
  const encoded = content.replace(
    /[^A-Za-z\d\-._~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  return name === '' ? encoded : `${name}=${encoded}`;
}

/** Blanks, or the next part of a word of a command in the language of a shell; an unclosed quote has no end. */
const PIECE =
  /[ \t\r]+|\n|#|'(?<single>[^']*)(?<end1>'?)|"(?<double>(?:\\(?:[^]|$)|[^"\\$`])*)(?<end2>["$`]?)|\$'(?<ansi>(?:\\(?:[^]|$)|[^'\\])*)(?<end3>'?)|\\(?<escaped>\r?\n|[^]|$)|[$`|&;<>()]|[^ \t\r\n#'"\\$`|&;<>()]+/y;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

/**
 * The words of one command.
 *
 * @returns bytes, one character each, because a quoted word can contain any
 * @throws ImportRefused for anything that only a shell can evaluate, such as variables and other programs, and for a
 *   second command
 */
export function shellWords(command: string): string[] {
  const text = Buffer.from(command).toString('latin1');
  const words: string[] = [];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  PIECE.lastIndex = 0;
  for (let found = PIECE.exec(text); found !== null; found = PIECE.exec(text)) {
    const [piece] = found;
    const { single, end1, double, end2, ansi, end3, escaped } = found.groups ?? {};
    if (piece === '\n') {
      endWord();
      if (words.length === 0) continue;
      const rest = text.slice(PIECE.lastIndex).replaceAll(/^[ \t]*#[^\n]*$/gm, '');
      if (rest.trim() !== '') throw refused('import.severalCommands');
      return words;
    }
    if (/^[ \t\r]/.test(piece)) endWord();
    else if (piece === '#' && word === undefined) {
      const end = text.indexOf('\n', PIECE.lastIndex);
      PIECE.lastIndex = end === -1 ? text.length : end;
    } else if (escaped !== undefined) {
      if (!escaped.endsWith('\n')) word = (word ?? '') + escaped;
    } else {
      refuseShell(piece, end2);
      if (end1 === '' || end2 === '' || end3 === '')
        throw refused('import.openQuote', { quote: /^\$?./.exec(piece)?.[0] ?? '' });
      word = (word ?? '') + (single ?? inDouble(double) ?? inAnsi(ansi) ?? piece);
    }
  }
  endWord();
  return words;
}

/** @param end what ended a text in double quotes */
function refuseShell(piece: string, end = ''): void {
  if (/^[$`]$/.test(end)) throw refused('import.shellVariable', { character: end });
  if (piece === '$') throw refused('import.shellVariable', { character: piece });
  if (piece === '`') throw refused('import.shellCommand', { character: piece });
  if (/^[|&;<>()]$/.test(piece)) throw refused('import.shellOther', { character: piece });
}

/** A backslash escapes only these characters there; before any other it is literal. */
function inDouble(text: string | undefined): string | undefined {
  return text?.replaceAll(/\\([$`"\\]|\n)/g, (_, escaped: string) => (escaped === '\n' ? '' : escaped));
}

function inAnsi(text: string | undefined): string | undefined {
  return text?.replaceAll(
    /\\(?:([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([^])|$)/g,
    (whole, octal?: string, hex?: string, short?: string, long?: string, letter = '') => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      const code = short ?? long;
      return code === undefined ? (ESCAPES[letter] ?? whole) : codePoint(Number.parseInt(code, 16));
    },
  );
}

/** Encodes a code point as UTF-8 bytes. */
function codePoint(code: number): string {
  if (code > 0x10_ffff) throw refused('import.largeCharacter', { escape: String.raw`\U` });
  return Buffer.from(String.fromCodePoint(code)).toString('latin1');
}

function refused(...message: Parameters<typeof toMessage>): ImportRefused {
  return new ImportRefused(toMessage(...message));
}
