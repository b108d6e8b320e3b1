import type { Tunnel } from '../../../shared/tunnel.ts';
import { localUrl, type TunnelSpec } from '../../config/tunnel-spec.ts';
import type { Clock } from '../../engine/clock.ts';
import type { RequestSummary } from '../../engine/inspector/records.ts';
import type { ConnectionProblem } from '../../engine/visitors/connections.ts';
import { VIEW_PROBLEM_MS, VIEW_REFRESH_BUSY_MS, VIEW_REFRESH_MS } from '../limits.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from '../reporter.ts';
import type { PanelState, PanelStatus } from './state.ts';

export interface PanelOptions {
  readonly spec: TunnelSpec;
  readonly clock: Clock;
  /** @returns the newest recorded requests, newest first */
  readonly requests: (count: number) => RequestSummary[];
  /** Asks the relay how the tunnel is. */
  readonly fetchTunnel: (id: string) => Promise<Tunnel>;
}

/** Follows one tunnel for the view. Expiry and counters come from the relay, which is asked while somebody looks. */
export class Panel implements Reporter {
  readonly #options: PanelOptions;
  #status: PanelStatus = { name: 'opening' };
  #tunnel: Tunnel | undefined;
  #problem: { readonly text: string; readonly until: number } | undefined;
  #refreshedAt = -Infinity;
  #isRefreshing = false;
  #lastSeen: RequestSummary | undefined;

  constructor(options: PanelOptions) {
    this.#options = options;
  }

  online(tunnel: Tunnel): void {
    this.#tunnel ??= tunnel;
    this.#status = { name: 'online' };
  }

  reconnecting(_attempt: number, retryInMs: number, why: string): void {
    this.#status = { name: 'reconnecting', retryAt: this.#options.clock.now() + retryInMs, why };
  }

  problem({ code, text }: ConnectionProblem): void {
    if (code === 'visitor-gone') return;
    this.#problem = { text, until: this.#options.clock.monotonic() + VIEW_PROBLEM_MS };
  }

  offline(reason: EndReason, why: string): void {
    this.#status = { name: 'ended', reason, why };
  }

  /** Says how the tunnel ended, once the view no longer does. */
  sayEnd(output: Output): void {
    const { spec, clock } = this.#options;
    if (this.#status.name === 'ended') {
      new TextReporter(output, clock, spec).offline(this.#status.reason, this.#status.why);
    }
  }

  /** @param count number of requests that can be shown */
  state(count: number): PanelState {
    const { spec, clock, requests } = this.#options;
    const newest = requests(count);
    this.#refreshIfDue(newest[0]);
    const isProblemOver = (this.#problem?.until ?? 0) <= clock.monotonic();
    return {
      label: spec.label,
      localUrl: localUrl(spec),
      status: this.#status,
      tunnel: this.#tunnel,
      madePassword: spec.madePassword,
      problem: isProblemOver ? undefined : this.#problem?.text,
      requests: newest,
    };
  }

  #refreshIfDue(newest: RequestSummary | undefined): void {
    const { clock } = this.#options;
    const tunnel = this.#tunnel;
    if (tunnel === undefined || this.#status.name !== 'online' || this.#isRefreshing) return;
    const last = this.#lastSeen;
    const isBusy = newest?.id !== last?.id || newest?.durationMs !== last?.durationMs;
    const age = clock.monotonic() - this.#refreshedAt;
    if (age < (isBusy ? VIEW_REFRESH_BUSY_MS : VIEW_REFRESH_MS)) return;
    this.#lastSeen = newest;
    void this.#refresh(tunnel.id);
  }

  async #refresh(id: string): Promise<void> {
    this.#isRefreshing = true;
    try {
      this.#tunnel = await this.#options.fetchTunnel(id);
    } catch {
      // Whether the tunnel is online is up to its control connection.
    }
    this.#isRefreshing = false;
    this.#refreshedAt = this.#options.clock.monotonic();
  }
}
