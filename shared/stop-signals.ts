/** Signals with which a person, a shell or a service manager asks a program to stop. */

/** ms: `bun run`, GNU timeout and older npm versions pass on a Ctrl-C that the program has received already. */
const SAME_SIGNAL_MS = 500;

/** Recognizes a signal that arrives twice, because a second one usually means impatience. */
export class SignalFilter {
  readonly #now: () => number;
  #last = -Infinity;

  /** @param now monotonic ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns whether the signal that has arrived is the same as the previous one */
  isRepeated(): boolean {
    const now = this.#now();
    if (now - this.#last < SAME_SIGNAL_MS) return true;
    this.#last = now;
    return false;
  }
}

/** Ctrl-C, a service manager, and Ctrl-Break on Windows. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const;

interface StopListener {
  stop(signal: (typeof STOP_SIGNALS)[number]): void;
  /** The window of the terminal was closed. */
  hangUp(): void;
}

/**
 * Listens to the signals of a process, each of them once. Node does not tell whether SIGHUP was ignored when the program
 * was started, as `nohup` does it, so it is ignored without a terminal.
 *
 * @param hasTerminal whether one of the program's standard streams was a terminal at its start
 */
export function onStopSignals(
  process: { on(signal: NodeJS.Signals, listener: () => void): unknown },
  hasTerminal: boolean,
  listener: StopListener,
  filter = new SignalFilter(),
): void {
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (!filter.isRepeated()) listener.stop(signal);
    });
  process.on('SIGHUP', () => {
    if (hasTerminal) listener.hangUp();
  });
}
