import type { KeptName } from '../../../shared/names.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../client/clock.ts';
import { isRawTarget, localUrl, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { isKeptOpen } from '../../client/expiry-watch.ts';
import { describeFailure, describeWait } from '../../client/failures.ts';
import type { ApprovalRequest } from '../../client/host/approval-requests.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import type { RequestDetail, RequestSummary, SocketMessages } from '../../client/inspector/records.ts';
import type { Rehearsal } from '../../client/visitors/rehearsal.ts';
import { textOf } from '../../client/messages.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { type MadeToken, madeTokens } from '../../client/relay/api-responses.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import { agentText } from '../output/format.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from '../output/reporter.ts';

/**
 * How often the relay is asked for expiry and counters while nothing happens, because others may extend the
 * tunnel.
 */
const VIEW_REFRESH_MS = 10_000;
/**
 * Interval at which the view asks the relay for expiry times and counters while requests are arriving: the
 * relay's counters are at most 1 s behind.
 */
const VIEW_REFRESH_BUSY_MS = 2000;
/** How long the view shows a problem after it last occurred. */
const VIEW_PROBLEM_MS = 30_000;

export interface PanelOptions {
  readonly spec: TunnelSpec;
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'now' | 'getTunnel' | 'extendTunnel' | 'answerKnock'>;
}

export type PanelStatus =
  | { readonly name: 'opening' }
  | { readonly name: 'online' }
  | {
      readonly name: 'reconnecting';
      /** wall-clock ms of the next attempt */
      readonly retryAt: number;
      readonly why: string;
    }
  | { readonly name: 'ended'; readonly reason: EndReason; readonly why: string };

/** One tunnel. */
export interface PanelState {
  /** what `culvert.yml` calls it */
  readonly label: string | undefined;
  /** local address, such as `http://localhost:3000` */
  readonly localUrl: string;
  readonly status: PanelStatus;
  /** as the relay last showed it; `undefined` until there is one */
  readonly tunnel: Tunnel | undefined;
  /** whether the account is known to keep its name */
  readonly isNameKept: boolean;
  /** ms that the relay's clock, which its times are by, is ahead of this machine's */
  readonly aheadMs: number;
  /** whether the command extends it before it expires */
  readonly isKeptOpen: boolean;
  /** the password generated for visitors */
  readonly madePassword: string | undefined;
  /** the tokens made for programs */
  readonly madeTokens: readonly MadeToken[];
  /** what could not be done for a visitor, and what to do about it */
  readonly problem: string | undefined;
  /** visitors who wait for approval */
  readonly knocks: readonly ApprovalRequest[];
  /** requests that fail or are delayed on purpose */
  readonly rehearsal?: Pick<Rehearsal, 'text' | 'isOn'> | undefined;
  /** newest first */
  readonly requests: readonly RequestSummary[];
  readonly latency?: Latency;
}

/** In ms, each `undefined` until it is known. */
interface Latency {
  /** of the relay's last answer */
  readonly relayMs: number | undefined;
  /** half of the last requests took at most this */
  readonly p50Ms: number | undefined;
  readonly p90Ms: number | undefined;
}

/** Number of messages of a connection that are shown, the newest ones. */
const VIEW_MESSAGES_MAX = 100;

/** A request with the last messages of its connection. */
export type ViewedRequest = RequestDetail & { readonly listed?: SocketMessages | undefined };

/** Number of requests that percentiles are of. */
const TIMED_REQUESTS = 100;

/** @param share of the values that are at most the result */
function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.ceil(sorted.length * share) - 1];
}

/** What the view shows of one tunnel. Its counters and its expiry are polled from the relay while the view is visible. */
export class Panel implements Reporter {
  readonly #options: PanelOptions;
  #served: ServedTunnel | undefined;
  #madeTokens: readonly MadeToken[] = [];
  #isNameKept = false;
  #status: PanelStatus = { name: 'opening' };
  #problem: { readonly text: string; readonly until: number } | undefined;
  #refreshedAt = -Infinity;
  #isRefreshing = false;
  #relayMs: number | undefined;
  #lastSeen: RequestSummary | undefined;

  constructor(options: PanelOptions) {
    this.#options = options;
  }

  waiting(retryInMs: number): void {
    this.#say(describeWait(retryInMs));
  }

  opened(tunnel: ServedTunnel): void {
    this.#served = tunnel;
    this.#madeTokens = madeTokens(tunnel.tunnelWithTokens.access);
  }

  online(): void {
    this.#status = { name: 'online' };
  }

  kept(_name: KeptName): void {
    this.#isNameKept = true;
  }

  reconnecting(_attempt: number, retryInMs: number, why: string): void {
    this.#status = { name: 'reconnecting', retryAt: this.#options.clock.now() + retryInMs, why };
  }

  problem({ code, text }: ConnectionProblem): void {
    if (code !== 'visitor-gone') this.#say(textOf(text));
  }

  /** Answers an approval request; does nothing if it is no longer pending. */
  answerKnock({ id, address, client }: ApprovalRequest, admit: boolean): void {
    const served = this.#served;
    if (served?.approvalRequests.some((other) => other.id === id) !== true) return;
    served.answered(id);
    this.#options.api.answerKnock(served.tunnel.id, id, admit).catch((error: unknown) => {
      const who = client === undefined ? address : `The ${agentText(client)}`;
      this.#say(`${who} could not be ${admit ? 'approved' : 'denied'}. ${describeFailure(error)}`);
    });
  }

  /** The view shows at all times how much time is left. */
  expiring(_tunnel: Tunnel, _leftMs: number, why?: string): void {
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
      isRaw: isRawTarget(this.#options.spec.target),
      list: () => this.#served?.log.list() ?? [],
      detail: (id: number): ViewedRequest | undefined => this.#detail(id),
      replay: (id: number): Promise<number> =>
        this.#served?.replayer.replay(id) ?? Promise.reject(new Error('The tunnel is not open yet.')),
    };
  }

  /** Extends the tunnel, and reports a failure. */
  extend(): void {
    const served = this.#served;
    if (served === undefined) return;
    this.#options.api.extendTunnel(served.tunnel.id).then(
      (extended) => served.update(extended),
      (error: unknown) => this.#say(`The tunnel could not be extended. ${describeFailure(error)}`),
    );
  }

  /** Switches its rehearsal off or on. */
  rehearse(): void {
    const { rehearsal } = this.#options.spec;
    if (rehearsal !== undefined) rehearsal.isOn = !rehearsal.isOn;
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
    const { spec, clock, api } = this.#options;
    const newest = this.#served?.log.list(undefined, count) ?? [];
    this.#refreshIfDue(newest[0]);
    const isProblemOver = (this.#problem?.until ?? 0) <= clock.monotonic();
    return {
      label: spec.label,
      localUrl: localUrl(spec.target),
      status: this.#status,
      tunnel: this.#tunnel && { ...this.#tunnel, requests: this.#served?.requests ?? 0 },
      isNameKept: this.#isNameKept,
      aheadMs: api.now() - clock.now(),
      isKeptOpen: isKeptOpen(spec),
      madePassword: spec.madePassword,
      madeTokens: this.#madeTokens,
      problem: isProblemOver ? undefined : this.#problem?.text,
      knocks: this.#served?.approvalRequests ?? [],
      rehearsal: spec.rehearsal,
      requests: newest,
      latency: this.#latency,
    };
  }

  get #latency(): Latency {
    const last = this.#served?.log.list(undefined, TIMED_REQUESTS) ?? [];
    // A connection that is kept open says nothing of how fast the service is.
    const times = last.flatMap(({ durationMs, status, messages }) =>
      status === 101 || messages !== undefined ? [] : (durationMs ?? []),
    );
    const sorted = times.toSorted((a, b) => a - b);
    return { relayMs: this.#relayMs, p50Ms: percentile(sorted, 0.5), p90Ms: percentile(sorted, 0.9) };
  }

  #detail(id: number): ViewedRequest | undefined {
    const log = this.#served?.log;
    const detail = log?.detail(id);
    if (detail?.messages === undefined) return detail;
    const { fromVisitor, fromService, control } = detail.messages;
    const after = Math.max(0, fromVisitor + fromService + control - VIEW_MESSAGES_MAX);
    return { ...detail, listed: log?.messages(id, after) };
  }

  #say(problem: string): void {
    this.#problem = { text: problem, until: this.#options.clock.monotonic() + VIEW_PROBLEM_MS };
  }

  /** Once visitors have reached it. */
  get #tunnel(): Tunnel | undefined {
    return this.#status.name === 'opening' ? undefined : this.#served?.tunnel;
  }

  #refreshIfDue(newest: RequestSummary | undefined): void {
    const { clock } = this.#options;
    const served = this.#served;
    if (served === undefined || this.#status.name !== 'online' || this.#isRefreshing) return;
    const last = this.#lastSeen;
    const isBusy = newest?.id !== last?.id || newest?.durationMs !== last?.durationMs;
    const age = clock.monotonic() - this.#refreshedAt;
    if (age < (isBusy ? VIEW_REFRESH_BUSY_MS : VIEW_REFRESH_MS)) return;
    this.#lastSeen = newest;
    void this.#refresh(served);
  }

  async #refresh(served: ServedTunnel): Promise<void> {
    const { clock } = this.#options;
    const asked = clock.monotonic();
    this.#isRefreshing = true;
    try {
      served.update(await this.#options.api.getTunnel(served.tunnel.id));
      this.#relayMs = clock.monotonic() - asked;
    } catch {
      // Whether the tunnel is online is up to its control connection.
    }
    this.#isRefreshing = false;
    this.#refreshedAt = clock.monotonic();
  }
}
