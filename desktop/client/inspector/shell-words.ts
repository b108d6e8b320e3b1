/** Splits a command into words like a POSIX shell, with bash's `$'…'`, but executes nothing. */
import { toMessage } from '../messages.ts';
import { ImportRefused } from './imported.ts';

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
