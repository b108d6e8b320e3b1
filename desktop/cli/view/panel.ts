import type { KnockMessage } from '../../../shared/control.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../client/clock.ts';
import { localUrl, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { isKeptOpen } from '../../client/expiry-watch.ts';
import { describeFailure, describeWait } from '../../client/failures.ts';
import type { RequestDetail, RequestSummary } from '../../client/inspector/records.ts';
import { RECORDED_REQUESTS_MAX } from '../../client/limits.ts';
import { textOf } from '../../client/messages.ts';
import { type MadeToken, madeTokens, withoutTokens } from '../../client/relay/api-responses.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import {
  VIEW_KNOCK_MS,
  VIEW_KNOCKS_MAX,
  VIEW_PROBLEM_MS,
  VIEW_REFRESH_BUSY_MS,
  VIEW_REFRESH_MS,
} from '../limits.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from '../output/reporter.ts';
import type { PanelState, PanelStatus, WaitingApproval } from './state.ts';

export interface PanelOptions {
  readonly spec: TunnelSpec;
  readonly clock: Clock;
  /** @returns the newest recorded requests, newest first */
  readonly requests: (count: number) => RequestSummary[];
  /** Everything recorded about one request. */
  readonly detail: (id: number) => RequestDetail | undefined;
  /** Asks the relay how the tunnel is. */
  readonly fetchTunnel: (id: string) => Promise<Tunnel>;
  /** ms since the epoch by the relay's clock; by default this machine's */
  readonly relayNow?: () => number;
  /** Extends the tunnel by its own time to live. */
  readonly extendTunnel: (id: string) => Promise<Tunnel>;
  /** Tells the relay whether a visitor's approval request is granted. */
  readonly answerKnock: (id: string, knock: string, admit: boolean) => Promise<void>;
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
  #replay: ((id: number) => Promise<number>) | undefined;
  #refreshedAt = -Infinity;
  #isRefreshing = false;
  #lastSeen: RequestSummary | undefined;

  constructor(options: PanelOptions) {
    this.#options = options;
  }

  waiting(retryInMs: number): void {
    this.#say(describeWait(retryInMs));
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
    this.#options.answerKnock(tunnel.id, id, admit).catch((error: unknown) => {
      this.#say(`${address} could not be ${admit ? 'approved' : 'denied'}. ${describeFailure(error)}`);
    });
  }

  /** The view shows at all times how much time is left. */
  expiring(tunnel: Tunnel, _leftMs: number, why?: string): void {
    this.#tunnel = tunnel;
    if (why !== undefined) this.#say(`The tunnel could not be extended. ${why}`);
  }

  /** How recorded requests can be repeated, once the tunnel is served. */
  useReplay(replay: (id: number) => Promise<number>): void {
    this.#replay = replay;
  }

  /** The address to hand out; `undefined` until there is one. */
  get url(): string | undefined {
    return this.#tunnel?.public_url;
  }

  /** Its requests, as the log of the view shows them. */
  get requests() {
    const { spec, requests, detail } = this.#options;
    return {
      label: spec.label,
      list: () => requests(RECORDED_REQUESTS_MAX),
      detail,
      replay: (id: number): Promise<number> =>
        this.#replay?.(id) ?? Promise.reject(new Error('The tunnel is not open yet.')),
    };
  }

  /** Extends the tunnel, and reports a failure. */
  extend(): void {
    const tunnel = this.#tunnel;
    if (tunnel === undefined) return;
    this.#options.extendTunnel(tunnel.id).then(
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
    const { spec, clock, requests, relayNow = () => clock.now() } = this.#options;
    const newest = requests(count);
    this.#refreshIfDue(newest[0]);
    for (const [id, { since }] of this.#knocks) {
      if (clock.monotonic() - since >= VIEW_KNOCK_MS) this.#knocks.delete(id);
    }
    const isProblemOver = (this.#problem?.until ?? 0) <= clock.monotonic();
    return {
      label: spec.label,
      localUrl: localUrl(spec),
      status: this.#status,
      tunnel: this.#tunnel,
      aheadMs: relayNow() - clock.now(),
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
      this.#tunnel = await this.#options.fetchTunnel(id);
    } catch {
      // Whether the tunnel is online is up to its control connection.
    }
    this.#isRefreshing = false;
    this.#refreshedAt = this.#options.clock.monotonic();
  }
}
