/** A program on a pseudo-terminal (Debian's `script`), and the contents of its screen. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { within } from './deadline.ts';
import type { Scope } from './scope.ts';

const ROWS = 24;
const COLUMNS = 90;

/** Understands the escape sequences of the view: cursor position, erasing, alternate screen. */
export class Screen {
  #lines: string[] = [];
  #row = 0;
  #rest = '';
  isAlternate = false;
  isCursorShown = true;
  /** whether anything was written in colour */
  hasColour = false;
  /** whether the text contains the sequences that set colours */
  keepsStyles = false;

  get text(): string {
    return this.#lines.join('\n');
  }

  write(chunk: string): void {
    const text = this.#rest + chunk;
    const parts = text.split('\u{1B}');
    this.#rest = '';
    parts.forEach((part, index) => {
      if (index === 0) return this.#print(part);
      const sequence = /^\[([?\d;]*)([A-Za-z])/.exec(part);
      if (sequence === null) {
        if (index === parts.length - 1) this.#rest = `\u{1B}${part}`;
        return;
      }
      this.#control(sequence[1] ?? '', sequence[2] ?? '');
      this.#print(part.slice(sequence[0].length));
    });
  }

  #control(parameters: string, final: string): void {
    const set = final === 'h';
    if (final === 'm') {
      this.hasColour ||= /(?:^|;)[349]\d/.test(parameters);
      if (this.keepsStyles) this.#print(`\u{1B}[${parameters}m`);
    }
    if (final === 'H') this.#row = Number(parameters.split(';')[0] || 1) - 1;
    else if (final === 'K') this.#lines[this.#row] = '';
    else if (final === 'J')
      this.#lines.length = parameters === '2' ? 0 : Math.min(this.#lines.length, this.#row);
    else if (parameters === '?25') this.isCursorShown = set;
    else if (parameters === '?1049') {
      this.isAlternate = set;
      this.#lines = [];
      this.#row = 0;
    }
  }

  #print(text: string): void {
    text.split('\n').forEach((line, index) => {
      if (index > 0) this.#row += 1;
      for (let row = this.#lines.length; row <= this.#row; row += 1) this.#lines.push('');
      this.#lines[this.#row] += line.replaceAll('\r', '');
    });
  }
}

export class Terminal {
  readonly screen = new Screen();
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #watchers = new Set<() => void>();
  #hasEnded = false;

  /** @param command for the shell; killed with the scope */
  constructor(
    scope: Scope,
    command: string,
    environment: Readonly<Record<string, string>>,
    columns = COLUMNS,
  ) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CULVERT_'));
    const prepared = `stty rows ${ROWS} cols ${columns}; ${command}`;
    this.#process = spawn('script', ['-qfec', prepared, '/dev/null'], {
      env: {
        ...Object.fromEntries(inherited),
        TERM: 'xterm',
        SHELL: '/bin/sh',
        LC_ALL: 'C.UTF-8',
        ...environment,
      },
    });
    this.#process.stdin.on('error', () => {});
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.screen.write(text);
      this.#changed();
    });
    this.#process.on('close', () => {
      this.#hasEnded = true;
      this.#changed();
    });
    scope.defer(() => void this.#process.kill('SIGKILL'));
  }

  /** Types on the keyboard. */
  type(keys: string): void {
    this.#process.stdin.write(keys);
  }

  /** Closes the window: the terminal is gone, and the kernel signals the programs on it. */
  hangUp(): void {
    this.#process.kill('SIGKILL');
  }

  /**
   * Waits until the screen matches.
   *
   * @returns the contents of the screen
   */
  async shows(wanted: RegExp, ms = 60_000): Promise<string> {
    const found = Promise.withResolvers<string>();
    const look = (): void => {
      const { text } = this.screen;
      if (wanted.test(text)) found.resolve(text);
      else if (this.#hasEnded) found.reject(new Error('the program ended'));
    };
    this.#watchers.add(look);
    look();
    try {
      return await within(ms, String(wanted), found.promise);
    } catch (error) {
      throw new Error(`${String(error)}\nscreen:\n${this.screen.text}`, { cause: error });
    } finally {
      this.#watchers.delete(look);
    }
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
