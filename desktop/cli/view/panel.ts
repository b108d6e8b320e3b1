import type { KnockMessage } from '../../../shared/control.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../client/clock.ts';
import { localUrl, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { isKeptOpen } from '../../client/expiry-watch.ts';
import { describeFailure, describeWait } from '../../client/failures.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import type { RequestSummary } from '../../client/inspector/records.ts';
import { textOf } from '../../client/messages.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { type MadeToken, madeTokens, withoutTokens } from '../../client/relay/api-responses.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from '../output/reporter.ts';
import type { PanelState, PanelStatus, WaitingApproval } from './state.ts';

/**
 * @limit How often the relay is asked for expiry and counters while nothing happens, because others may extend the
 * tunnel.
 */
const VIEW_REFRESH_MS = 10_000;
/**
 * @limit Interval at which the view asks the relay for expiry times and counters while requests are arriving: the
 * relay's counters are at most 1 s behind.
 */
const VIEW_REFRESH_BUSY_MS = 2000;
/** @limit How long the view shows a problem after it last occurred. */
const VIEW_PROBLEM_MS = 30_000;
/** @limit How long the view shows an approval request: the relay denies it after that. */
const VIEW_KNOCK_MS = 5 * 60_000;
/** @limit Maximum number of approval requests listed per tunnel; the relay queues no more than these. */
const VIEW_KNOCKS_MAX = 32;

export interface PanelOptions {
  readonly spec: TunnelSpec;
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'now' | 'getTunnel' | 'extendTunnel' | 'answerKnock'>;
}

/** State of one tunnel for the view. Expiry and counters are polled from the relay while the view is visible. */
export class Panel implements Reporter {
  readonly #options: PanelOptions;
  #status: PanelStatus = { name: 'opening' };
  #tunnel: Tunnel | undefined;
  #madeTokens: readonly MadeToken[] = [];
  #problem: { readonly text: string; readonly until: number } | undefined;
  /** by id, in the order of arrival */
  readonly #knocks = new Map<string, WaitingApproval>();
  #served: Pick<ServedTunnel, 'log' | 'replayer'> | undefined;
  #refreshedAt = -Infinity;
  #isRefreshing = false;
  #lastSeen: RequestSummary | undefined;

  constructor(options: PanelOptions) {
    this.#options = options;
  }

  waiting(retryInMs: number): void {
    this.#say(describeWait(retryInMs));
  }

  opened(tunnel: Pick<ServedTunnel, 'log' | 'replayer'>): void {
    this.#served = tunnel;
  }

  online(tunnel: Tunnel): void {
    this.#tunnel ??= withoutTokens(tunnel);
    if (this.#madeTokens.length === 0) this.#madeTokens = madeTokens(tunnel.access);
    this.#status = { name: 'online' };
  }

  reconnecting(_attempt: number, retryInMs: number, why: string): void {
    this.#status = { name: 'reconnecting', retryAt: this.#options.clock.now() + retryInMs, why };
  }

  problem({ code, text }: ConnectionProblem): void {
    if (code !== 'visitor-gone') this.#say(textOf(text));
  }

  approvalRequest(knock: KnockMessage): void {
    if (this.#knocks.has(knock.id) || this.#knocks.size >= VIEW_KNOCKS_MAX) return;
    this.#knocks.set(knock.id, { knock, since: this.#options.clock.monotonic() });
  }

  /** Answers an approval request; does nothing if it is no longer pending. */
  answerKnock({ id, address }: KnockMessage, admit: boolean): void {
    const tunnel = this.#tunnel;
    if (tunnel === undefined || !this.#knocks.delete(id)) return;
    this.#options.api.answerKnock(tunnel.id, id, admit).catch((error: unknown) => {
      this.#say(`${address} could not be ${admit ? 'approved' : 'denied'}. ${describeFailure(error)}`);
    });
  }

  /** The view shows at all times how much time is left. */
  expiring(tunnel: Tunnel, _leftMs: number, why?: string): void {
    this.#tunnel = tunnel;
    if (why !== undefined) this.#say(`The tunnel could not be extended. ${why}`);
  }

  /** The address to hand out; `undefined` until there is one. */
  get url(): string | undefined {
    return this.#tunnel?.public_url;
  }

  /** Its requests, as the log of the view shows them. */
  get requests() {
    return {
      label: this.#options.spec.label,
      list: () => this.#served?.log.list() ?? [],
      detail: (id: number) => this.#served?.log.detail(id),
      replay: (id: number): Promise<number> =>
        this.#served?.replayer.replay(id) ?? Promise.reject(new Error('The tunnel is not open yet.')),
    };
  }

  /** Extends the tunnel, and reports a failure. */
  extend(): void {
    const tunnel = this.#tunnel;
    if (tunnel === undefined) return;
    this.#options.api.extendTunnel(tunnel.id).then(
      (extended) => (this.#tunnel = extended),
      (error: unknown) => this.#say(`The tunnel could not be extended. ${describeFailure(error)}`),
    );
  }

  offline(reason: EndReason, why: string): void {
    this.#knocks.clear();
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
    const { spec, clock, api } = this.#options;
    const newest = this.#served?.log.list(undefined, count) ?? [];
    this.#refreshIfDue(newest[0]);
    for (const [id, { since }] of this.#knocks) {
      if (clock.monotonic() - since >= VIEW_KNOCK_MS) this.#knocks.delete(id);
    }
    const isProblemOver = (this.#problem?.until ?? 0) <= clock.monotonic();
    return {
      label: spec.label,
      localUrl: localUrl(spec.target),
      status: this.#status,
      tunnel: this.#tunnel,
      aheadMs: api.now() - clock.now(),
      isKeptOpen: isKeptOpen(spec),
      madePassword: spec.madePassword,
      madeTokens: this.#madeTokens,
      problem: isProblemOver ? undefined : this.#problem?.text,
      knocks: [...this.#knocks.values()],
      requests: newest,
    };
  }

  #say(problem: string): void {
    this.#problem = { text: problem, until: this.#options.clock.monotonic() + VIEW_PROBLEM_MS };
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
      this.#tunnel = await this.#options.api.getTunnel(id);
    } catch {
      // Whether the tunnel is online is up to its control connection.
    }
    this.#isRefreshing = false;
    this.#refreshedAt = this.#options.clock.monotonic();
  }
}
