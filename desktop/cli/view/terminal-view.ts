import { readFileSync, writeSync } from 'node:fs';
import type { Clock, Timer } from '../../client/clock.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { showsUtf8, toAscii } from '../output/format.ts';
import { openAddress } from '../output/prompt.ts';
import type { Output } from '../output/reporter.ts';
import { frame, type NextKnock, nextKnock, type ViewState } from './frame.ts';
import type { HostWindow } from './host-window.ts';
import { LogPage, requestLines } from './log-page.ts';
import { copySequence, type OnceOnline } from './once-online.ts';
import { Panel, type PanelOptions, type PanelState } from './panel.ts';
import { knowsLinks, leftColumns, type Line, paint, type Size } from './text.ts';

/** Interval at which the view is redrawn: faster than anybody reads, slow enough to cost nothing. */
const VIEW_DRAW_MS = 250;
/** How long the view shows the result of a keystroke. */
const VIEW_NOTE_MS = 5000;

/** Whether a terminal can show the view: it can move its cursor. */
export function canShowView(stdout: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stdout.isTTY === true && env['TERM'] !== 'dumb';
}

/** As the process exits, only synchronous writes to its descriptor still arrive. */
type TerminalOutput = NodeJS.WriteStream & { readonly fd: number };

/**
 * The view of `culvert http` and `culvert start` on a terminal, from its first frame until the terminal is restored.
 */
export class TerminalView {
  readonly #stdin: NodeJS.ReadStream;
  readonly #stdout: TerminalOutput;
  readonly #clock: Clock;
  readonly #window: Pick<HostWindow, 'open' | 'address'>;
  readonly #screen: Screen;
  readonly #panels: Panel[] = [];
  readonly #unsaid: string[] = [];
  readonly #paste = new PasteReader();
  #timer: Timer | undefined;
  #page: ViewState['page'] = 'overview';
  /** the panel that keys are about */
  #current = 0;
  #hasShownCode = false;
  /** the request log, while it is open */
  #log: LogPage | undefined;
  readonly #hasUtf8: boolean;
  readonly #jobs: Jobs;
  #isSuspended = false;
  #newest: { readonly key: string; readonly lines: readonly Line[] } | undefined;
  #note: { readonly text: string; readonly until: number } | undefined;
  /** the visitor that keys apply to: only a visitor who is shown can be approved */
  #shownKnock: NextKnock | undefined;

  constructor(
    stdin: NodeJS.ReadStream,
    stdout: TerminalOutput,
    env: NodeJS.ProcessEnv,
    clock: Clock,
    window: Pick<HostWindow, 'open' | 'address'>,
    jobs = JOBS,
  ) {
    this.#clock = clock;
    this.#jobs = jobs;
    this.#hasUtf8 = showsUtf8(env);
    this.#window = window;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#screen = new Screen(stdout, (env['NO_COLOR'] ?? '') === '', knowsLinks(env), this.#hasUtf8);
  }

  /** Messages held back while the view occupies the terminal. */
  readonly output: Output = {
    out: (text) => void this.#unsaid.push(text),
    err: (text) => void this.#unsaid.push(text),
  };

  add(spec: TunnelSpec, api: PanelOptions['api']): Panel {
    const panel = new Panel({ spec, clock: this.#clock, api });
    this.#panels.push(panel);
    return panel;
  }

  open(): void {
    this.#screen.open();
    this.#stdout.on('resize', this.#redraw);
    process.on('SIGCONT', this.#resume);
    process.on('exit', this.#restore);
    // Runs before Node prints the error, which would vanish with the alternate screen.
    process.on('uncaughtExceptionMonitor', this.#restore);
    if (this.#stdin.isTTY) {
      this.#stdin.setRawMode(true);
      this.#stdin.setEncoding('utf8').on('data', this.#onKeys).on('error', this.#redraw).resume();
    }
    this.#tick();
  }

  /** Restores the terminal, then reports how every tunnel ended. */
  close(output: Output): void {
    this.#timer?.cancel();
    this.#stdout.off('resize', this.#redraw);
    process.off('SIGCONT', this.#resume);
    process.off('exit', this.#restore);
    process.off('uncaughtExceptionMonitor', this.#restore);
    if (this.#stdin.isTTY) {
      this.#stdin.off('data', this.#onKeys);
      if (!this.#isSuspended) this.#stdin.setRawMode(false);
      this.#stdin.pause();
    }
    this.#screen.close();
    for (const text of this.#unsaid) output.err(text);
    for (const panel of this.#panels) panel.sayEnd(output);
  }

  /**
   * What the keys `r`, `c` and `o` do, asked for on the command line. The QR code is that of the first tunnel that is
   * online.
   */
  doOnceOnline(panel: Panel, { open, qr, copy }: OnceOnline): void {
    if (qr && !this.#hasShownCode) {
      this.#hasShownCode = true;
      this.#current = this.#panels.indexOf(panel);
      this.#show('code');
    }
    if (copy) this.#copy(panel.url);
    if (open) this.#open(panel.url);
  }

  /** Shows the tunnels in a browser, and the link to that. */
  async openWindow(): Promise<void> {
    this.#say('Opening the window in a browser…');
    const link = await this.#window.open((text) => this.#say(text));
    if (link !== undefined) this.#say('The link below opens the window, once.');
  }

  /** Gives the terminal back to the shell, and stops. The shell decides when this process continues, and where. */
  #suspend(): void {
    if (!this.#jobs.canStop) return;
    this.#isSuspended = true;
    this.#stdin.setRawMode(false);
    // In the background, a key that is pressed for the shell would stop a process that reads it.
    this.#stdin.pause();
    this.#screen.close();
    this.#jobs.stop();
  }

  /** Others may have changed the terminal in the meantime. In the background, it belongs to them. */
  readonly #resume = (): void => {
    if (!this.#jobs.isForeground()) return;
    this.#isSuspended = false;
    if (this.#stdin.isTTY) {
      // Node does nothing if it believes that the mode is set already.
      this.#stdin.setRawMode(false);
      this.#stdin.setRawMode(true);
      this.#stdin.resume();
    }
    this.#screen.close();
    this.#screen.open();
    this.#redraw();
  };

  #tick(): void {
    if (this.#isSuspended) this.#resume();
    else this.#draw();
    this.#timer = this.#clock.setTimeout(() => this.#tick(), VIEW_DRAW_MS);
  }

  #draw(): void {
    const { size } = this.#screen;
    if (this.#log !== undefined) {
      this.#screen.draw(this.#log.frame(size).slice(0, size.rows));
      return;
    }
    const panels = this.#panels.map((panel) => panel.state(size.rows));
    const isNoteOver = (this.#note?.until ?? 0) <= this.#clock.monotonic();
    const state = {
      panels,
      now: this.#clock.now(),
      page: this.#page,
      current: this.#current,
      window: this.#window.address,
      note: isNoteOver ? undefined : this.#note?.text,
      hasUtf8: this.#hasUtf8,
      hasKeys: this.#stdin.isTTY,
      newest: leftColumns(size.columns) === undefined ? undefined : this.#newestOf(panels),
    };
    if (this.#screen.draw(frame(state, size))) this.#shownKnock = nextKnock(panels);
  }

  /** The newest request of the current panel, laid out again only if it has changed. */
  #newestOf(panels: readonly PanelState[]): readonly Line[] {
    const [newest] = panels[this.#current]?.requests ?? [];
    const key = `${this.#current} ${JSON.stringify(newest)}`;
    if (this.#newest?.key !== key) {
      const detail = newest && this.#panels[this.#current]?.requests.detail(newest.id);
      this.#newest = { key, lines: detail === undefined ? [] : requestLines(detail) };
    }
    return this.#newest.lines;
  }

  readonly #redraw = (): void => {
    this.#screen.forget();
    this.#draw();
  };

  readonly #onKeys = (input: string): void => {
    for (const key of splitKeys(this.#paste.withoutPasted(input))) this.#onKey(key);
  };

  #onKey(key: string): void {
    // When keys are read one by one, Ctrl-C is one of them and not a signal.
    if (key === 'ctrl-c') process.emit('SIGINT');
    else if (key === 'ctrl-l') this.#redraw();
    else if (key === 'ctrl-z') this.#suspend();
    else if (this.#log !== undefined) {
      if (!this.#log.key(key)) this.#log = undefined;
      this.#draw();
    } else if (key === 'a' || key === 'x') this.#answerKnock(key === 'a');
    else if (this.#page === 'quit' || this.#page === 'help') this.#leavePage(key);
    else this.#onOverviewKey(key);
  }

  #leavePage(key: string): void {
    if (this.#page === 'quit' && key === 'y') process.emit('SIGINT');
    this.#show('overview');
  }

  #onOverviewKey(key: string): void {
    const panel = this.#panels[this.#current];
    switch (key) {
      case '?':
        return this.#show('help');
      case 'q':
        return this.#show('quit');
      case 'r':
        return this.#show(this.#page === 'code' ? 'overview' : 'code');
      case 'escape':
        return this.#show('overview');
      case 'tab':
        this.#current = (this.#current + 1) % this.#panels.length;
        return this.#draw();
      case 'i':
        this.#log = panel && new LogPage(panel.requests);
        return this.#draw();
      case 'e':
        return panel?.extend();
      case 'f':
        return panel?.rehearse();
      case 'c':
        return this.#copy(panel?.url);
      case 'o':
        return this.#open(panel?.url);
      case 'w':
        return void this.openWindow();
    }
  }

  #show(page: ViewState['page']): void {
    this.#page = page;
    this.#draw();
  }

  #copy(url: string | undefined): void {
    if (url === undefined) return;
    this.#stdout.write(copySequence(url));
    this.#say(`Copied ${url}, if your terminal allows programs to use the clipboard.`);
  }

  #open(url: string | undefined): void {
    if (url === undefined) return;
    this.#say(`Opening ${url}`);
    openAddress(url, (why) => this.#say(`${why}.`));
  }

  #say(text: string): void {
    this.#note = { text, until: this.#clock.monotonic() + VIEW_NOTE_MS };
    this.#draw();
  }

  /** The next request is shown with the next frame, so that an extra key press answers none. */
  #answerKnock(admit: boolean): void {
    const shown = this.#shownKnock;
    this.#shownKnock = undefined;
    if (shown !== undefined) this.#panels[shown.panel]?.answerKnock(shown.knock, admit);
  }

  /** For a program that ends without {@link close}: nothing asynchronous is written after this. */
  readonly #restore = (): void => {
    if (!this.#screen.isOpen) return;
    if (this.#stdin.isTTY) this.#stdin.setRawMode(false);
    try {
      writeSync(this.#stdout.fd, LEAVE);
    } catch {
      // The terminal is gone.
    }
  };
}

/* Jobs of a shell. */

export interface Jobs {
  /** whether the system knows jobs */
  readonly canStop: boolean;
  /** Stops all processes of the job, such as npm that has started this one, until the shell continues them. */
  stop(): void;
  /** Whether the terminal belongs to this job. */
  isForeground(): boolean;
}

const JOBS: Jobs = {
  canStop: process.platform !== 'win32',
  stop: () => void process.kill(0, 'SIGTSTP'),
  isForeground() {
    try {
      // After the name: state, parent, group, session, terminal, and the group in its foreground (proc_pid_stat(5)).
      const [, , group, , , foreground] = readFileSync('/proc/self/stat', 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      return group === foreground;
    } catch {
      // Elsewhere, the system stops a job in the background again as soon as it uses the terminal.
      return true;
    }
  },
};

/** Keys as a terminal sends them. */

/** Sequences of terminals, by the names that the view gives their keys. */
const SEQUENCES: Readonly<Record<string, string>> = {
  '\u{1B}[A': 'up',
  '\u{1B}OA': 'up',
  '\u{1B}[B': 'down',
  '\u{1B}OB': 'down',
  '\u{1B}[5~': 'page-up',
  '\u{1B}[6~': 'page-down',
  '\u{1B}': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u{7F}': 'backspace',
  '\u{8}': 'backspace',
  '\u{3}': 'ctrl-c',
  '\u{C}': 'ctrl-l',
  '\u{1A}': 'ctrl-z',
};

const ESCAPE = '\u{1B}';
const KEY = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])?|[^${ESCAPE}]`, 'gu');

/**
 * @returns the keys of a piece of input: names for those above, a character for others; unknown sequences are left out
 */
export function splitKeys(input: string): string[] {
  const parts = input.match(KEY) ?? [];
  return parts.flatMap((part) => SEQUENCES[part] ?? (part.startsWith(ESCAPE) ? [] : part));
}

const PASTE_START = '\u{1B}[200~';
const PASTE_END = '\u{1B}[201~';
const CTRL_C = '\u{3}';

/**
 * Leaves out pasted text, which terminals put between marks: it may be anything, with keys that close tunnels or let
 * visitors in. The marks may arrive in pieces.
 */
export class PasteReader {
  #isPasting = false;
  /** what may be the beginning of the mark at the end */
  #held = '';

  /** @returns what was typed of a piece of input */
  withoutPasted(input: string): string {
    // A paste that never ends must not lock the user in.
    if (this.#isPasting && input === CTRL_C) {
      this.#isPasting = false;
      this.#held = '';
      return input;
    }
    let typed = '';
    let rest = this.#held + input;
    for (;;) {
      const mark = this.#isPasting ? PASTE_END : PASTE_START;
      const at = rest.indexOf(mark);
      // Escape is a key of its own, so it is not held back while nothing is pasted.
      const cut = at === -1 ? rest.length - heldLength(rest, mark, this.#isPasting ? 1 : 2) : at;
      if (!this.#isPasting) typed += rest.slice(0, cut);
      this.#held = rest.slice(cut);
      if (at === -1) return typed;
      this.#isPasting = !this.#isPasting;
      rest = rest.slice(at + mark.length);
    }
  }
}

/** How many characters at the end may be the beginning of a mark: none, or at least `least`. */
function heldLength(text: string, mark: string, least: number): number {
  for (let length = Math.min(mark.length - 1, text.length); length >= least; length -= 1)
    if (mark.startsWith(text.slice(-length))) return length;
  return 0;
}

/* Writes frames to a terminal: only what has changed, on the alternate screen, which leaves no trace. */

/** The part of a TTY stream that is written to. */
interface TerminalStream {
  readonly columns: number;
  readonly rows: number;
  /** bytes that the terminal has not taken yet, as when it is stopped by Ctrl-S */
  readonly writableLength: number;
  write(text: string): unknown;
}

const CSI = '\u{1B}[';
/** Alternate screen, no cursor, no wrapping of lines that turn out longer than the window, and marks around pasted text. */
const ENTER = `${CSI}?1049h${CSI}?25l${CSI}?7l${CSI}?2004h${CSI}2J`;
/** The terminal as it was. */
export const LEAVE = `${CSI}?2004l${CSI}?7h${CSI}?25h${CSI}?1049l`;

export class Screen {
  readonly #stream: TerminalStream;
  readonly #hasColour: boolean;
  readonly #hasLinks: boolean;
  #shown: string[] | undefined;
  #isOpen = false;

  readonly #hasUtf8: boolean;

  /**
   * @param hasLinks whether the terminal opens hyperlinks
   * @param hasUtf8 whether it shows more than ASCII
   */
  constructor(stream: TerminalStream, hasColour: boolean, hasLinks = false, hasUtf8 = true) {
    this.#stream = stream;
    this.#hasColour = hasColour;
    this.#hasLinks = hasLinks;
    this.#hasUtf8 = hasUtf8;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get size(): Size {
    // A terminal of unknown size reports 0.
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
    const painted = lines.map((line) => paint(line, columns, this.#hasColour, this.#hasLinks));
    const shown = this.#hasUtf8 ? painted : painted.map((line) => toAscii(line, '?'));
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
    this.#shown = undefined;
    this.#stream.write(LEAVE);
  }
}
