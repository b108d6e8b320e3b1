/** Diagnostics: the checks of `culvert doctor`, shown in the window as they run. */
import { randomUUID } from 'node:crypto';
import { diagnose } from '../../client/diagnostics/diagnose.ts';
import type { HopResult, LocalService, Remedies } from '../../client/diagnostics/hop.ts';
import { toMessage } from '../../client/messages.ts';
import type { Network } from '../../client/network/network.ts';
import type { DiagnosticsView } from '../ipc/snapshot.ts';
import { type Connection, signedIn } from './connection.ts';
import { Signal } from '../../client/signal.ts';

/**
 * Checks the way from this machine through the relay to a local port.
 *
 * @param local the local service; `undefined` for none
 * @param tell called with every result as it arrives
 * @returns whether everything works
 */
export type Diagnose = (
  connection: Connection,
  local: LocalService | undefined,
  interrupted: AbortSignal,
  tell: (result: HopResult) => void,
) => Promise<boolean>;

interface DiagnosticsOptions {
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  readonly examine: Diagnose;
  /** Called with an unexpected error of a check. */
  readonly onError: (error: unknown) => void;
}

export class Diagnostics {
  /** The view has changed. */
  readonly changed = new Signal();
  readonly #options: DiagnosticsOptions;
  #view: DiagnosticsView | undefined;
  #running: AbortController | undefined;

  constructor(options: DiagnosticsOptions) {
    this.#options = options;
  }

  /** The results so far; `undefined` while the window does not show them. */
  get view(): DiagnosticsView | undefined {
    return this.#view;
  }

  /**
   * Starts a check instead of a running one. @param of the tunnel that fails, and its local service; without it, the
   * relay alone
   */
  start(of: { readonly slug: string; readonly local: LocalService | undefined } | undefined): void {
    const connection = signedIn(this.#options.connection());
    this.stop();
    const running = new AbortController();
    this.#running = running;
    this.#show({ id: randomUUID(), slug: of?.slug, results: [], isRunning: true });
    this.#examine(connection, of?.local, running.signal).catch(this.#options.onError);
  }

  /** The window no longer shows the results. */
  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    if (this.#view !== undefined) this.#show(undefined);
  }

  async #examine(
    connection: Connection,
    local: LocalService | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const change = (how: (view: DiagnosticsView) => DiagnosticsView): void => {
      if (!signal.aborted && this.#view !== undefined) this.#show(how(this.#view));
    };
    try {
      await this.#options.examine(connection, local, signal, (result) =>
        change((view) => ({ ...view, results: [...view.results, result] })),
      );
    } finally {
      change((view) => ({ ...view, isRunning: false }));
    }
  }

  #show(view: DiagnosticsView | undefined): void {
    this.#view = view;
    this.changed.emit();
  }
}

/** Advice that differs from the command's. */
const REMEDIES: Remedies = {
  noKey: toMessage('doctor.app.newKey'),
  badKey: toMessage('doctor.app.newKey'),
  certificate: toMessage('doctor.app.certificate'),
  noLocal: toMessage('doctor.app.noLocal'),
  local: toMessage('doctor.app.local'),
};
const FROM = toMessage('doctor.app.source');

/** @param network the way to the relay */
export function runDiagnostics(network: Network): Diagnose {
  return ({ relay, key }, local, interrupted, tell) =>
    diagnose(
      {
        relay,
        relayFrom: FROM,
        network,
        key,
        keyFrom: FROM,
        requireKey: () => key,
        local,
        remedies: REMEDIES,
      },
      interrupted,
      tell,
    );
}
