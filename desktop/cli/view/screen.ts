/** Writes frames to a terminal: only what has changed, on the alternate screen, which leaves no trace. */
import type { Size } from './state.ts';
import { type Line, paint } from './text.ts';

/** The part of a TTY stream that is written to. */
export interface TerminalStream {
  readonly columns: number;
  readonly rows: number;
  /** bytes that the terminal has not taken yet, as when it is stopped by Ctrl-S */
  readonly writableLength: number;
  write(text: string): unknown;
}

const CSI = '\u{1B}[';
/** Alternate screen, no cursor, no wrapping of lines that turn out longer than the window. */
const ENTER = `${CSI}?1049h${CSI}?25l${CSI}?7l${CSI}2J`;
/** The terminal as it was. */
export const LEAVE = `${CSI}?7h${CSI}?25h${CSI}?1049l`;

export class Screen {
  readonly #stream: TerminalStream;
  readonly #hasColour: boolean;
  #shown: string[] | undefined;
  #isOpen = false;

  constructor(stream: TerminalStream, hasColour: boolean) {
    this.#stream = stream;
    this.#hasColour = hasColour;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get size(): Size {
    // A terminal that does not know its size says 0.
    return { columns: this.#stream.columns || 80, rows: this.#stream.rows || 24 };
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#stream.write(ENTER);
  }

  /** @returns whether the terminal shows these lines now */
  draw(lines: readonly Line[]): boolean {
    // What a stopped terminal does not take must not pile up.
    if (!this.#isOpen || this.#stream.writableLength > 0) return false;
    const { columns } = this.size;
    const before = this.#shown;
    const shown = lines.map((line) => paint(line, columns, this.#hasColour));
    let text = before === undefined ? `${CSI}2J` : '';
    shown.forEach((line, index) => {
      if (before?.[index] !== line) text += `${CSI}${index + 1};1H${CSI}K${line}`;
    });
    if (before !== undefined && before.length > shown.length) text += `${CSI}${shown.length + 1};1H${CSI}J`;
    this.#shown = shown;
    if (text !== '') this.#stream.write(text);
    return true;
  }

  /** The window has another size, or something else has written to it: the next frame is drawn in full. */
  forget(): void {
    this.#shown = undefined;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#stream.write(LEAVE);
  }
}
