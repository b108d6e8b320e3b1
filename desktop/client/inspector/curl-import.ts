/** Parses a `curl` command line, from a browser or {@link curlCommand}, into the request that curl would send. */
import { toMessage, type MessageCode } from '../messages.ts';
import { CUT_NOTICE } from './curl.ts';
import { type ImportedRequest, ImportRefused, isOwnField, percentEncoded, targetOf } from './edit.ts';

/** How {@link curlCommand} passes a body that does not fit into a shell word. */
const PIPED = /^((?:\s|#[^\n]*\n)*)echo ([A-Za-z\d+/=]+) \| base64 -d \| (?=curl\b)/;

/**
 * Reads no files and executes nothing.
 *
 * @throws ImportRefused
 */
export function importCurl(text: string): ImportedRequest {
  if (/^\s*curl(?:\.exe)?\s+\^"/.test(text)) throw new ImportRefused(toMessage('import.windowsCommand'));
  const piped = PIPED.exec(text);
  const input = piped?.[2] === undefined ? undefined : Buffer.from(piped[2], 'base64');
  const [program, ...words] = shellWords(piped === null ? text : text.slice(piped[0].length));
  if (program !== 'curl') throw new ImportRefused(toMessage('import.notCurl'));
  return { ...requestOf(words, input), isCut: text.startsWith(CUT_NOTICE), response: undefined };
}

function requestOf(
  words: readonly string[],
  input: Buffer | undefined,
): Omit<ImportedRequest, 'isCut' | 'response'> {
  const { values, flags } = readCurlArguments(words);
  const headers = new CurlHeaders();
  const body = new CurlBody(input);
  const urls: string[] = [];
  let method: string | undefined;
  let wanted: string | undefined;
  for (const [option, value] of values) {
    switch (option) {
      case 'method':
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
        if (!value.includes('='))
          throw new ImportRefused(toMessage('import.optionFile', { option: '-b', value }));
        headers.usual('Cookie', value);
        break;
      case 'agent':
        headers.usual('User-Agent', value);
        break;
      case 'referer':
        headers.usual('Referer', value);
        break;
      case 'url':
        urls.push(value);
        break;
      case 'target':
        wanted = value;
        break;
      case 'none':
        break;
      case 'data':
      case 'raw-data':
      case 'url-data':
      case 'json':
        body.add(option, value);
    }
  }
  const [url, ...more] = urls;
  if (url === undefined) throw new ImportRefused(toMessage('import.noAddress'));
  if (more.length > 0) throw new ImportRefused(toMessage('import.severalAddresses'));
  const isQuery = flags.has('get');
  if (body.isJson) {
    headers.usual('Content-Type', 'application/json');
    headers.usual('Accept', 'application/json');
  } else if (body.isGiven && !isQuery) headers.usual('Content-Type', 'application/x-www-form-urlencoded');
  headers.usual('User-Agent', 'curl');
  headers.usual('Accept', '*/*');
  if (flags.has('compressed')) headers.usual('Accept-Encoding', 'gzip, deflate, br');
  const target = wanted ?? targetOf(percentEncoded(literal(url, flags)));
  return {
    method: method ?? methodOf(flags, body.isGiven),
    target: isQuery && body.isGiven ? withQuery(target, body.text) : target,
    fields: headers.fields,
    body: isQuery ? new Uint8Array() : Uint8Array.from(Buffer.from(body.text, 'latin1')),
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
    if (text.startsWith('@'))
      throw new ImportRefused(toMessage('import.optionFile', { option: '-H', value: text }));
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

function methodOf(flags: ReadonlySet<CurlFlag>, hasBody: boolean): string {
  if (flags.has('head')) return 'HEAD';
  return hasBody && !flags.has('get') ? 'POST' : 'GET';
}

/** Brackets and braces would be a pattern for several addresses; browsers escape them with a backslash. */
function literal(url: string, flags: ReadonlySet<CurlFlag>): string {
  return flags.has('literal') ? url : url.replaceAll(/\\([[\]{}])/g, '$1');
}

function withQuery(target: string, query: string): string {
  return target + (target.includes('?') ? '&' : '?') + percentEncoded(query);
}

/** curl would prompt for a missing password. */
function withPassword(user: string): string {
  return user.includes(':') ? user : `${user}:`;
}

/* Parses the options of a `curl` command and their values as curl does. */

interface CurlArguments {
  /** in the given order; addresses are `url` */
  readonly values: readonly (readonly [option: CurlOption, value: string])[];
  readonly flags: ReadonlySet<CurlFlag>;
}

/**
 * @param words the words after `curl`
 * @throws ImportRefused for an unknown option, or a missing value
 */
function readCurlArguments(words: readonly string[]): CurlArguments {
  const values: (readonly [CurlOption, string])[] = [];
  const flags = new Set<CurlFlag>();
  let areOptionsOver = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (areOptionsOver || !word.startsWith('-') || word === '-') values.push(['url', word]);
    else if (word === '--') areOptionsOver = true;
    else if (word.startsWith('--')) readOption(word, undefined);
    else readShort(word);

    /** Several short options may share a word, and the last one its value. */
    function readShort(letters: string): void {
      for (let index = 1; index < letters.length; index++) {
        const rest = letters.slice(index + 1);
        if (readOption(`-${letters.charAt(index)}`, rest === '' ? undefined : rest)) return;
      }
    }

    /** @returns whether the option has a value */
    function readOption(name: string, attached: string | undefined): boolean {
      const flag = FLAGS.get(name);
      if (flag !== undefined) {
        flags.add(flag);
        return false;
      }
      const option = VALUED.get(name);
      if (option === undefined) throw new ImportRefused(toMessage(notTaken(name), { option: name }));
      if (attached === undefined) at += 1;
      const value = attached ?? words[at];
      if (value === undefined) throw new ImportRefused(toMessage('import.noValue', { option: name }));
      values.push([option, value]);
      return true;
    }
  }
  return { values, flags };
}

function notTaken(name: string): MessageCode {
  if (/^(?:-F|--form|--form-string)$/.test(name)) return 'import.optionForm';
  if (/^(?:-T|--upload-file|-K|--config)$/.test(name)) return 'import.optionReads';
  return name === '--next' || name === '-:' ? 'import.optionNext' : 'import.option';
}

/** The data of a `curl` command, joined as curl does; one character per byte. */
class CurlBody {
  /** data piped into the command */
  readonly #input: Buffer | undefined;
  #text: string | undefined;
  #isJson = false;

  constructor(input: Buffer | undefined) {
    this.#input = input;
  }

  get isGiven(): boolean {
    return this.#text !== undefined;
  }

  get isJson(): boolean {
    return this.#isJson;
  }

  get text(): string {
    return this.#text ?? '';
  }

  /** @throws ImportRefused for data in a file */
  add(option: Extract<CurlOption, 'data' | 'raw-data' | 'url-data' | 'json'>, value: string): void {
    const text = this.#read(option, value);
    this.#isJson ||= option === 'json';
    const separator = option === 'json' ? '' : '&';
    this.#text = this.#text === undefined ? text : this.#text + separator + text;
  }

  #read(option: CurlOption, value: string): string {
    if (option === 'raw-data') return value;
    if (option === 'url-data') return urlEncoded(value);
    if (!value.startsWith('@')) return value;
    if (value === '@-' && this.#input !== undefined) return this.#input.toString('latin1');
    throw inFile(value);
  }
}

/** `content`, `=content` or `name=content`, of which the content is encoded. `@file` and `name@file` are not read. */
function urlEncoded(value: string): string {
  const at = value.search(/[=@]/);
  if (value.charAt(at) === '@') throw inFile(value);
  const [name, content] = at === -1 ? ['', value] : [value.slice(0, at), value.slice(at + 1)];
  const encoded = content.replace(
    /[^A-Za-z\d\-._~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  return name === '' ? encoded : `${name}=${encoded}`;
}

function inFile(value: string): ImportRefused {
  return new ImportRefused(toMessage('import.dataFile', { value }));
}

/** Options of curl by their effect on the request. */

/** The effect of an option. `none`: it does not affect the request. */
type CurlOption =
  | 'method'
  | 'header'
  | 'data'
  | 'raw-data'
  | 'url-data'
  | 'json'
  | 'user'
  | 'cookie'
  | 'agent'
  | 'referer'
  | 'url'
  | 'target'
  | 'none';
type CurlFlag = 'get' | 'head' | 'compressed' | 'literal' | 'none';

/** Options that affect only the connection, or the handling of the response. */
const IGNORED_VALUED =
  '-o --output -m --max-time --connect-timeout --resolve --connect-to -w --write-out --retry -x --proxy --noproxy --cacert ' +
  '--max-redirs --limit-rate';
const IGNORED_FLAGS =
  '-s --silent -S --show-error -v --verbose -k --insecure -L --location -i --include --show-headers -f --fail ' +
  '--fail-with-body -N --no-buffer -# --progress-bar --no-progress-meter -0 --http1.0 --http1.1 --http2 --http3 ' +
  '--path-as-is -4 --ipv4 -6 --ipv6 -O --tlsv1.2 --tlsv1.3';

/** Options with a value. */
const VALUED: ReadonlyMap<string, CurlOption> = new Map<string, CurlOption>([
  ['-X', 'method'],
  ['--request', 'method'],
  ['-H', 'header'],
  ['--header', 'header'],
  ['-d', 'data'],
  ['--data', 'data'],
  ['--data-ascii', 'data'],
  ['--data-binary', 'data'],
  ['--data-raw', 'raw-data'],
  ['--data-urlencode', 'url-data'],
  ['--json', 'json'],
  ['-u', 'user'],
  ['--user', 'user'],
  ['-b', 'cookie'],
  ['--cookie', 'cookie'],
  ['-A', 'agent'],
  ['--user-agent', 'agent'],
  ['-e', 'referer'],
  ['--referer', 'referer'],
  ['--url', 'url'],
  ['--request-target', 'target'],
  ...IGNORED_VALUED.split(' ').map((name): [string, CurlOption] => [name, 'none']),
]);

/** Options without a value. */
const FLAGS: ReadonlyMap<string, CurlFlag> = new Map<string, CurlFlag>([
  ['-G', 'get'],
  ['--get', 'get'],
  ['-I', 'head'],
  ['--head', 'head'],
  ['--compressed', 'compressed'],
  ['-g', 'literal'],
  ['--globoff', 'literal'],
  ...IGNORED_FLAGS.split(' ').map((name): [string, CurlFlag] => [name, 'none']),
]);

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
export function shellWords(text: string): string[] {
  return new ShellReader(Buffer.from(text).toString('latin1')).read();
}

class ShellReader {
  readonly #text: string;
  readonly #words: string[] = [];
  #at = 0;
  /** the current word; `undefined` between two */
  #word: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[] {
    while (this.#at < this.#text.length) this.#readNext();
    this.#endWord();
    return this.#words;
  }

  #readNext(): void {
    const character = this.#text.charAt(this.#at);
    this.#at += 1;
    switch (character) {
      case ' ':
      case '\t':
      case '\r':
        return this.#endWord();
      case '\n':
        this.#endWord();
        if (this.#words.length > 0) this.#skipRest();
        return;
      case '#':
        return this.#word === undefined ? this.#skipLine() : this.#add(character);
      case "'":
        return this.#add(this.#until("'"));
      case '"':
        return this.#readDouble();
      case '\\':
        return this.#readEscaped();
      case '$':
        if (this.#text.charAt(this.#at) === "'") return this.#readAnsi();
        throw refused('$', 'import.shellVariable');
      case '`':
        throw refused('`', 'import.shellCommand');
      case '|':
      case '&':
      case ';':
      case '<':
      case '>':
      case '(':
      case ')':
        throw refused(character, 'import.shellOther');
      default:
        return this.#add(character);
    }
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text;
  }

  #endWord(): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
  }

  #skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  /** Skips what follows the command. */
  #skipRest(): void {
    const rest = this.#text.slice(this.#at).replaceAll(/^[ \t]*#[^\n]*$/gm, '');
    if (rest.trim() !== '') throw new ImportRefused(toMessage('import.severalCommands'));
    this.#at = this.#text.length;
  }

  /** The text before the next such character, which is consumed as well. */
  #until(end: string): string {
    const to = this.#text.indexOf(end, this.#at);
    if (to === -1) throw new ImportRefused(toMessage('import.openQuote', { quote: end }));
    const text = this.#text.slice(this.#at, to);
    this.#at = to + 1;
    return text;
  }

  #readDouble(): void {
    this.#add('');
    for (;;) {
      const character = this.#text.charAt(this.#at);
      this.#at += 1;
      if (character === '') throw new ImportRefused(toMessage('import.openQuote', { quote: '"' }));
      if (character === '"') return;
      if (character === '$' || character === '`') throw refused(character, 'import.shellVariable');
      if (character === '\\') this.#readEscapedInDouble();
      else this.#add(character);
    }
  }

  /** A backslash escapes only these characters there; before any other it is literal. */
  #readEscapedInDouble(): void {
    const next = this.#text.charAt(this.#at);
    if (next === '\n') this.#at += 1;
    else if (next !== '' && '$`"\\'.includes(next)) {
      this.#at += 1;
      this.#add(next);
    } else this.#add('\\');
  }

  #readEscaped(): void {
    const next = /^\r?\n|^[^]/.exec(this.#text.slice(this.#at, this.#at + 2))?.[0] ?? '';
    this.#at += next.length;
    if (!next.endsWith('\n')) this.#add(next);
  }

  #readAnsi(): void {
    this.#at += 1;
    this.#add('');
    for (;;) {
      const character = this.#text.charAt(this.#at);
      this.#at += 1;
      if (character === '') throw new ImportRefused(toMessage('import.openQuote', { quote: "$'" }));
      if (character === "'") return;
      this.#add(character === '\\' ? this.#readAnsiEscape() : character);
    }
  }

  #readAnsiEscape(): string {
    const rest = this.#text.slice(this.#at, this.#at + 10);
    const [whole, octal, hex, short, long] =
      /^(?:([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8}))/.exec(rest) ?? [];
    if (whole !== undefined) {
      this.#at += whole.length;
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      return codePoint(Number.parseInt(short ?? long ?? '', 16));
    }
    const next = rest.charAt(0);
    const meant = ESCAPES[next];
    if (meant === undefined) return '\\';
    this.#at += 1;
    return meant;
  }
}

/** Encodes a code point as UTF-8 bytes. */
function codePoint(code: number): string {
  if (code > 0x10_ffff)
    throw new ImportRefused(toMessage('import.largeCharacter', { escape: String.raw`\U` }));
  return Buffer.from(String.fromCodePoint(code)).toString('latin1');
}

function refused(
  character: string,
  code: 'import.shellVariable' | 'import.shellCommand' | 'import.shellOther',
): ImportRefused {
  return new ImportRefused(toMessage(code, { character }));
}
