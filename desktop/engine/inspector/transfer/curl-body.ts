import type { CurlOption } from './curl-options.ts';
import { say } from '../../said/said.ts';
import { ImportRefused } from './imported.ts';

/** The data of a `curl` command, put together as curl does; as bytes, a character each. */
export class CurlBody {
  /** what is piped into the command */
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

  /** @throws ImportRefused for data that is in a file */
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

/** `content`, `=content` or `name=content`, of which the content is encoded; `@file` and `name@file` are not read. */
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
  return new ImportRefused(say('import.dataFile', { value }));
}
