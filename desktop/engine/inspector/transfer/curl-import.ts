/** Reads a `curl` command line, as browsers and {@link curlCommand} write it, as the request that curl would send. */
import { percentEncoded } from '../editing/editable.ts';
import { isOwnField } from '../editing/own-fields.ts';
import { CUT_NOTICE } from '../curl.ts';
import { readCurlArguments } from './curl-arguments.ts';
import { CurlBody } from './curl-body.ts';
import type { CurlFlag } from './curl-options.ts';
import { say } from '../../said/said.ts';
import { type ImportedRequest, ImportRefused } from './imported.ts';
import { shellWords } from './shell-words.ts';
import { targetOf } from './target-of.ts';

/** How {@link curlCommand} carries a body that no word of a shell can. */
const PIPED = /^((?:\s|#[^\n]*\n)*)echo ([A-Za-z\d+/=]+) \| base64 -d \| (?=curl\b)/;

/**
 * Reads no files and runs nothing.
 *
 * @throws ImportRefused
 */
export function importCurl(text: string): ImportedRequest {
  if (/^\s*curl(?:\.exe)?\s+\^"/.test(text)) throw new ImportRefused(say('import.windowsCommand'));
  const piped = PIPED.exec(text);
  const input = piped?.[2] === undefined ? undefined : Buffer.from(piped[2], 'base64');
  const [program, ...words] = shellWords(piped === null ? text : text.slice(piped[0].length));
  if (program !== 'curl') throw new ImportRefused(say('import.notCurl'));
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
        if (!value.includes('=')) throw new ImportRefused(say('import.optionFile', { option: '-b', value }));
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
  if (url === undefined) throw new ImportRefused(say('import.noAddress'));
  if (more.length > 0) throw new ImportRefused(say('import.severalAddresses'));
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

/** The headers of a request: those that were given with -H stand for those that curl would write. */
class CurlHeaders {
  readonly #custom: (readonly [string, string])[] = [];
  readonly #named = new Set<string>();
  readonly #usual = new Map<string, readonly [string, string]>();

  get fields(): (readonly [string, string])[] {
    const usual = [...this.#usual].filter(([lower]) => !this.#named.has(lower)).map(([, field]) => field);
    return [...this.#custom, ...usual].filter(([name]) => !isOwnField(name));
  }

  /** `Name: value`; `Name:` leaves out what curl would write, `Name;` is one without a value. */
  custom(text: string): void {
    if (text.startsWith('@'))
      throw new ImportRefused(say('import.optionFile', { option: '-H', value: text }));
    const end = text.search(/[:;]/);
    // Pseudo-headers of HTTP/2 and anything without a colon are no headers; curl leaves them out, too.
    if (end <= 0) return;
    const [name, value] = [text.slice(0, end).trim(), text.slice(end + 1).trim()];
    this.#named.add(name.toLowerCase());
    if (value !== '' || text.charAt(end) === ';') this.#custom.push([name, value]);
  }

  /** What curl writes unless it was given; the first of a name counts. */
  usual(name: string, value: string): void {
    const lower = name.toLowerCase();
    if (!this.#usual.has(lower)) this.#usual.set(lower, [name, value]);
  }
}

function methodOf(flags: ReadonlySet<CurlFlag>, hasBody: boolean): string {
  if (flags.has('head')) return 'HEAD';
  return hasBody && !flags.has('get') ? 'POST' : 'GET';
}

/** Brackets and braces would be a pattern for several addresses; browsers write a backslash before them. */
function literal(url: string, flags: ReadonlySet<CurlFlag>): string {
  return flags.has('literal') ? url : url.replaceAll(/\\([[\]{}])/g, '$1');
}

function withQuery(target: string, query: string): string {
  return target + (target.includes('?') ? '&' : '?') + percentEncoded(query);
}

/** curl would ask for a password that is missing. */
function withPassword(user: string): string {
  return user.includes(':') ? user : `${user}:`;
}
