import { writeSync } from 'node:fs';
import type { TunnelSpec } from '../../config/tunnel-spec.ts';
import type { Clock, Timer } from '../../engine/clock.ts';
import { VIEW_DRAW_MS } from '../limits.ts';
import type { Output } from '../reporter.ts';
import { frame } from './frame.ts';
import { type NextKnock, nextKnock } from './knocks.ts';
import { Panel, type PanelOptions } from './panel.ts';
import { LEAVE, Screen } from './screen.ts';

const CTRL_C = '\u{3}';
const CTRL_L = '\u{C}';

/** Whether a terminal can show the view: it can move its cursor. */
export function canShowView(stdout: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stdout.isTTY === true && env['TERM'] !== 'dumb';
}

/** The view of `culvert http` and `culvert start` on a terminal, from its first frame until the terminal is restored. */
export class TerminalView {
  readonly #stdin: NodeJS.ReadStream;
  readonly #stdout: NodeJS.WriteStream;
  readonly #clock: Clock;
  readonly #screen: Screen;
  readonly #panels: Panel[] = [];
  readonly #unsaid: string[] = [];
  #timer: Timer | undefined;
  #codeOf: number | undefined;
  /** the visitor whom keys are about: nobody is let in whom nobody has seen */
  #shownKnock: NextKnock | undefined;

  constructor(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream, env: NodeJS.ProcessEnv, clock: Clock) {
    this.#clock = clock;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#screen = new Screen(stdout, (env['NO_COLOR'] ?? '') === '');
  }

  /** What is reported while the view has the terminal comes after it. */
  readonly output: Output = {
    out: (text) => void this.#unsaid.push(text),
    err: (text) => void this.#unsaid.push(text),
  };

  add(spec: TunnelSpec, sources: Pick<PanelOptions, 'requests' | 'fetchTunnel' | 'answerKnock'>): Panel {
    const panel = new Panel({ spec, clock: this.#clock, ...sources });
    this.#panels.push(panel);
    return panel;
  }

  open(): void {
    this.#screen.open();
    this.#stdout.on('resize', this.#redraw);
    process.on('SIGCONT', this.#redraw);
    process.on('exit', this.#restore);
    // Before Node prints the error, which would vanish with the alternate screen.
    process.on('uncaughtExceptionMonitor', this.#restore);
    if (this.#stdin.isTTY) {
      this.#stdin.setRawMode(true);
      this.#stdin.setEncoding('utf8').on('data', this.#onKeys).on('error', this.#redraw).resume();
    }
    this.#tick();
  }

  /** Restores the terminal, and then says how every tunnel ended. */
  close(output: Output): void {
    this.#timer?.cancel();
    this.#stdout.off('resize', this.#redraw);
    process.off('SIGCONT', this.#redraw);
    process.off('exit', this.#restore);
    process.off('uncaughtExceptionMonitor', this.#restore);
    if (this.#stdin.isTTY) {
      this.#stdin.off('data', this.#onKeys);
      this.#stdin.setRawMode(false);
      this.#stdin.pause();
    }
    this.#screen.close();
    for (const text of this.#unsaid) output.err(text);
    for (const panel of this.#panels) panel.sayEnd(output);
  }

  #tick(): void {
    this.#draw();
    this.#timer = this.#clock.setTimeout(() => this.#tick(), VIEW_DRAW_MS);
  }

  #draw(): void {
    const { size } = this.#screen;
    const panels = this.#panels.map((panel) => panel.state(size.rows));
    const state = { panels, now: this.#clock.now(), codeOf: this.#codeOf, hasKeys: this.#stdin.isTTY };
    if (this.#screen.draw(frame(state, size))) this.#shownKnock = nextKnock(panels);
  }

  readonly #redraw = (): void => {
    this.#screen.forget();
    this.#draw();
  };

  readonly #onKeys = (keys: string): void => {
    for (const key of keys) {
      // When keys are read one by one, Ctrl-C is one of them and not a signal.
      if (key === CTRL_C) process.emit('SIGINT');
      else if (key === CTRL_L) this.#redraw();
      else if (key === 'q') this.#nextCode();
      else if (key === 'a' || key === 'r') this.#answerKnock(key === 'a');
    }
  };

  /** The next one is shown with the next frame, so that one key too many answers nobody. */
  #answerKnock(admit: boolean): void {
    const shown = this.#shownKnock;
    this.#shownKnock = undefined;
    if (shown !== undefined) this.#panels[shown.panel]?.answerKnock(shown.knock, admit);
  }

  /** From one tunnel to the next, and then back to the requests. */
  #nextCode(): void {
    const next = this.#codeOf === undefined ? 0 : this.#codeOf + 1;
    this.#codeOf = next < this.#panels.length ? next : undefined;
    this.#draw();
  }

  /** The program ends without {@link close}: nothing asynchronous is written any more. */
  readonly #restore = (): void => {
    if (!this.#screen.isOpen) return;
    if (this.#stdin.isTTY) this.#stdin.setRawMode(false);
    try {
      writeSync(1, LEAVE);
    } catch {
      // The terminal is gone.
    }
  };
}
