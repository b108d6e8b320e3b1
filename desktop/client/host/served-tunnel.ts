/**
 * A tunnel that this machine serves: its connection, its expiry, its requests and their replays. It does not know which
 * program has opened it, nor how it is shown.
 */
import { type KnockMessage, PROBLEM_INTERVAL_MS } from '../../../shared/control.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { type Clock, Deadlines } from '../clock.ts';
import { hostsOf, localUrl, type TunnelSettings } from '../config/tunnel-spec.ts';
import type { TunnelSession, TunnelState } from '../control/tunnel-session.ts';
import type { OfflineReason } from '../control/verdict.ts';
import { ExpiryWatch, isKeptOpen } from '../expiry-watch.ts';
import { Replayer, ReplayRefused } from '../inspector/replay.ts';
import { RequestLog, RECORDED_REQUESTS_MAX } from '../inspector/request-log.ts';
import { LogSearch } from '../inspector/search.ts';
import type { LocalDialer } from '../local/local-dialer.ts';
import { replacementHost } from '../local/local-error.ts';
import { MessageError, type MessageValue, toMessage } from '../messages.ts';
import type { ApiClient } from '../relay/api-client.ts';
import { madeTokens, withoutTokens } from '../relay/api-responses.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import type { TunnelClientOptions } from '../tunnel-client.ts';
import { type ConnectionProblem, serviceOfRequest } from '../visitors/connections.ts';
import { type ApprovalRequest, ApprovalRequests } from './approval-requests.ts';
import { type OpenTarget, openTarget } from './open-target.ts';

/** A relay, and the key for it. */
export interface RelayConnection {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly api: Pick<ApiClient, 'now' | 'getTunnel' | 'extendTunnel'>;
}

/** Serves a tunnel that exists at the relay. Usually `createTunnelClient`, with the way to the relay. */
export type ConnectTunnel = (
  options: Omit<TunnelClientOptions, 'network'>,
) => Pick<TunnelSession, 'start' | 'stop' | 'suspend' | 'wake'>;

export type ServedState =
  | Extract<TunnelState, { name: 'connecting' | 'online' }>
  | (Extract<TunnelState, { name: 'reconnecting' }> & { /** wall-clock ms */ readonly retryAt: number })
  | { readonly name: 'ended'; readonly reason: OfflineReason; readonly why: MessageValue };

type EndedState = Extract<ServedState, { name: 'ended' }>;

/** Hears what happens to a tunnel, from then on. */
interface TunnelListener {
  onState?(state: ServedState): void;
  /** A visitor could not be served. Told at most once per {@link PROBLEM_INTERVAL_MS} for each code. */
  onProblem?(problem: ConnectionProblem): void;
  /** @param isNew whether it was not known: a relay repeats those that are pending when the client reconnects */
  onApprovalRequest?(request: KnockMessage, isNew: boolean): void;
  /**
   * It expires soon, unless it is extended.
   *
   * @param leftMs ms until then
   * @param why what prevents that it is extended here; `undefined` if nobody here does that
   */
  onExpiring?(leftMs: number, why: unknown): void;
  /** The relay, not its owner, has ended it. */
  onLost?(reason: OfflineReason): void;
  /** Anything that can be read of it may have changed, its requests included. */
  onChange?(): void;
}

export interface ServedTunnelOptions {
  readonly clock: Clock;
  readonly connect: ConnectTunnel;
  /** number of requests that its log keeps */
  readonly requestsMax?: number;
  /** number of bytes of each body to keep; by default as its settings have it */
  readonly keptBody?: (() => number) | undefined;
  /** whether its end is watched even if nobody here extends it, to warn of it */
  readonly warns: boolean;
}

/** What is known of a tunnel before it is served. */
export interface KnownTunnel {
  /** stays when the tunnel is created again */
  readonly key: string;
  readonly settings: TunnelSettings;
  /** as the relay has shown it last */
  readonly tunnel: Tunnel;
  /** the password that visitors have to give, if it was set here */
  readonly password?: string | undefined;
  /** why it has ended, if it has */
  readonly ended?: Omit<EndedState, 'name'> | undefined;
}

/** What changes when it is served: by default, nothing. */
interface ServeOptions {
  /** another tunnel of the relay, instead of its own */
  readonly tunnel?: Tunnel;
  readonly password?: string | undefined;
  /** its target, if that is open already; it is closed with the tunnel */
  readonly target?: OpenTarget | undefined;
}

/** One time that a tunnel is served. */
interface Run {
  target?: OpenTarget;
  client?: ReturnType<ConnectTunnel>;
}

export class ServedTunnel {
  readonly key: string;
  readonly settings: TunnelSettings;
  /** what visitors have asked for */
  readonly log: RequestLog;
  readonly search: LogSearch;
  /** sends recorded requests to the local service again */
  readonly replayer: Replayer;
  readonly #options: ServedTunnelOptions;
  readonly #listeners = new Set<TunnelListener>();
  readonly #deadlines: Deadlines;
  readonly #approvalRequests: ApprovalRequests;
  /** made by the relay, by name, until they are forgotten */
  readonly #madeTokens = new Map<string, string>();
  #tunnel: Tunnel;
  #password: string | undefined;
  #state: ServedState = { name: 'connecting' };
  #run: Run | undefined;
  #expiry: ExpiryWatch | undefined;
  #localProblem: ConnectionProblem | undefined;
  #localNews = {};
  /** by code; `at` in monotonic ms */
  readonly #toldProblems = new Map<string, { readonly at: number; leftOut: number }>();
  /** the counts of the relay and of the log when serving began */
  #counted: { readonly requests: number; readonly visits: number };
  /** finds the local service of a recorded request; `undefined` for a folder that was never served */
  #service: ((request: Buffer) => LocalDialer) | undefined;
  /** the `Host` of the server of its folder */
  #folderHost: string | undefined;

  /** Serves nothing yet. */
  constructor({ key, settings, tunnel, password, ended }: KnownTunnel, options: ServedTunnelOptions) {
    const { clock, requestsMax = RECORDED_REQUESTS_MAX, keptBody = () => settings.keepBodies } = options;
    this.key = key;
    this.settings = settings;
    this.#options = options;
    this.#deadlines = new Deadlines(clock);
    this.#approvalRequests = new ApprovalRequests(() => clock.now());
    this.#tunnel = this.#takeTokens(tunnel);
    this.#password = password;
    if (ended !== undefined) this.#state = { name: 'ended', ...ended };
    this.log = new RequestLog(clock, requestsMax, keptBody);
    this.search = new LogSearch(this.log);
    this.replayer = new Replayer(this.log, (request) => this.#serviceOf(request), this.#deadlines);
    this.#counted = { requests: tunnel.requests, visits: 0 };
    const { target } = settings;
    if (!('folder' in target)) this.#use(target);
    this.log.watch(({ status, isImported, rehearsed, connection, connectedMs }) => {
      // The status of an imported request is another server's.
      const isServed = !isImported && rehearsed !== 'failed' && status !== undefined && status !== 502;
      if (isServed || (connection === 'open' && connectedMs !== undefined)) this.#localProblem = undefined;
      this.#changed();
    });
  }

  /** as the relay has shown it last, without the tokens that it shows once */
  get tunnel(): Tunnel {
    return this.#tunnel;
  }

  /** the same with the tokens that the relay has made, and that were not forgotten */
  get tunnelWithTokens(): Tunnel {
    const { tokens } = this.#tunnel.access;
    if (tokens === undefined) return this.#tunnel;
    const made = tokens.map((view) => {
      const token = this.#madeTokens.get(view.name);
      return token === undefined ? view : { ...view, token };
    });
    return { ...this.#tunnel, access: { ...this.#tunnel.access, tokens: made } };
  }

  get state(): ServedState {
    return this.#state;
  }

  /** what serves it now: another one each time that it is served */
  get serving(): object | undefined {
    return this.#run;
  }

  get isEnded(): boolean {
    return this.#state.name === 'ended';
  }

  /** the password that was set here last; the access policy tells whether visitors need it */
  get password(): string | undefined {
    return this.#password;
  }

  /** Requests so far: the relay's count, or the count of the log if that is higher. The log knows of a request earlier. */
  get requests(): number {
    const { requests, visits } = this.#counted;
    return Math.max(this.#tunnel.requests, requests + this.log.visits - visits);
  }

  /** why the latest visitor could not be served, until the local service has responded to one */
  get localProblem(): ConnectionProblem | undefined {
    return this.#localProblem;
  }

  /** Another one each time that it is served, or that a visitor is the first to meet a problem with its local service. */
  get localNews(): object {
    return this.#localNews;
  }

  /** the Host that its local service gets with requests that no visitor has sent */
  get localHost(): string {
    const { target } = this.settings;
    const local = this.#run?.target?.local ?? ('folder' in target ? undefined : target);
    return (local && replacementHost(local)) ?? new URL(this.#tunnel.public_url).host;
  }

  /** pending approval requests, the longest waiting first */
  get approvalRequests(): readonly ApprovalRequest[] {
    return this.#approvalRequests.all;
  }

  /** A token that the relay has made and that was not forgotten yet. */
  madeToken(name: string): string | undefined {
    return this.#madeTokens.get(name);
  }

  /** It is not shown again. */
  forgetToken(name: string): void {
    this.#madeTokens.delete(name);
    this.#changed();
  }

  /** @returns call it to stop listening */
  listen(listener: TunnelListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Serves the tunnel as the relay has it, or its replacement. */
  serve(connection: RelayConnection, options: ServeOptions = {}): void {
    const { tunnel = this.#tunnel, target } = options;
    this.#leave();
    this.#tunnel = this.#takeTokens(tunnel);
    this.#counted = { requests: tunnel.requests, visits: this.log.visits };
    if ('password' in options) this.#password = options.password;
    this.#localProblem = undefined;
    this.#localNews = {};
    const run: Run = {};
    this.#run = run;
    this.#enter({ name: 'connecting' });
    const opened = target ?? openTarget(this.settings.target, this.#folderHost);
    if (!(opened instanceof Promise)) return this.#start(run, connection, opened);
    opened.then(
      (late) => (this.#run === run ? this.#start(run, connection, late) : void late.close()),
      (error: unknown) => {
        if (this.#run !== run) return;
        // The relay still has the tunnel, which can be taken back.
        const isKnown = error instanceof MessageError;
        this.#lose('refused', isKnown ? error.said : toMessage('folder.notServed', { why: String(error) }));
      },
    );
  }

  /** Visitors no longer reach the local service; what happens to the tunnel at the relay is up to the caller. */
  end(reason: OfflineReason, why: MessageValue): void {
    this.#leave();
    this.#localProblem = undefined;
    this.#approvalRequests.clear();
    this.#enter({ name: 'ended', reason, why });
  }

  /** The relay has shown it: its counters, its end or its access policy may be others. */
  update(tunnel: Tunnel): void {
    this.#tunnel = this.#takeTokens(tunnel);
    this.#expiry?.update(this.#tunnel);
    this.#changed();
  }

  /** Its access policy was changed here. @param password the one that visitors have to give */
  changedAccess(tunnel: Tunnel, password: string | undefined): void {
    this.#password = password;
    const { knock, oauth } = tunnel.access;
    if (knock !== true && oauth !== true) this.#approvalRequests.clear();
    this.update(tunnel);
  }

  /** A visitor no longer waits for approval. */
  answered(requestId: string): void {
    this.#approvalRequests.remove(requestId);
    this.#changed();
  }

  /** This machine is going to sleep: notifies the relay. {@link ServedTunnel.wake} connects again. */
  suspend(): void {
    this.#run?.client?.suspend();
  }

  /** The network is back or this machine is awake: connects immediately if not connected. */
  wake(): void {
    this.#run?.client?.wake();
  }

  #start(run: Run, connection: RelayConnection, target: OpenTarget): void {
    const { relay, key, api } = connection;
    const { headers, compress } = this.settings;
    const { id } = this.#tunnel;
    run.target = target;
    this.#use(target.local);
    const ifCurrent =
      <T extends unknown[]>(act: (...given: T) => void) =>
      (...given: T): void => {
        if (this.#run === run) act(...given);
      };
    run.client = this.#options.connect({
      relay,
      key,
      tunnelId: id,
      local: target.local,
      hosts: this.#hosts,
      headers,
      compress,
      recorder: this.log,
      rehearsal: this.settings.rehearsal,
      onState: ifCurrent((state: TunnelState) => this.#onState(state)),
      onProblem: ifCurrent((problem: ConnectionProblem) => this.#onProblem(problem)),
      onKnock: ifCurrent((knock: KnockMessage) => this.#onKnock(knock)),
    });
    this.#watchExpiry(api);
    run.client.start();
  }

  #watchExpiry(api: RelayConnection['api']): void {
    const isKept = isKeptOpen(this.settings);
    if (!isKept && !this.#options.warns) return;
    this.#expiry = new ExpiryWatch(this.#tunnel, {
      clock: this.#options.clock,
      api,
      isKept,
      onMoved: (tunnel) => this.update(tunnel),
      warn: (leftMs, why) => this.#tell((listener) => listener.onExpiring?.(leftMs, why)),
    });
    this.#expiry.start();
  }

  /** Ends what serves it now, if anything does. */
  #leave(): void {
    const run = this.#run;
    this.#run = undefined;
    this.#expiry?.stop();
    this.#expiry = undefined;
    run?.client?.stop();
    void run?.target?.close();
    if ('folder' in this.settings.target) this.#service = undefined;
  }

  get #hosts() {
    const ports = hostsOf(this.settings.target);
    return ports && { tunnel: this.#tunnel, ports };
  }

  /** Recorded requests are also sent there. */
  #use(local: OpenTarget['local']): void {
    if ('folder' in this.settings.target) this.#folderHost = local.hostHeader;
    this.#service = serviceOfRequest(local, this.#hosts, this.#deadlines);
  }

  #serviceOf(request: Buffer): LocalDialer {
    if (this.#service !== undefined) return this.#service(request);
    const folder = localUrl(this.settings.target);
    throw new ReplayRefused('local-refused', toMessage('folder.notShared', { folder }));
  }

  /** @returns the tunnel without its new tokens, which are neither stored nor shown again */
  #takeTokens(tunnel: Tunnel): Tunnel {
    const { tokens = [] } = tunnel.access;
    for (const name of this.#madeTokens.keys())
      if (tokens.every((token) => token.name !== name)) this.#madeTokens.delete(name);
    for (const { name, token } of madeTokens(tunnel.access)) this.#madeTokens.set(name, token);
    return withoutTokens(tunnel);
  }

  #onState(state: TunnelState): void {
    switch (state.name) {
      case 'idle':
        return;
      case 'connecting':
        return this.#enter(state);
      case 'online':
        this.#expiry?.wake();
        return this.#enter(state);
      case 'reconnecting':
        return this.#enter({ ...state, retryAt: this.#options.clock.now() + state.retryInMs });
      case 'offline':
        return this.#lose(state.reason, state.why);
    }
  }

  #lose(reason: OfflineReason, why: MessageValue): void {
    this.end(reason, why);
    this.#tell((listener) => listener.onLost?.(reason));
  }

  #enter(state: ServedState): void {
    this.#state = state;
    this.#tell((listener) => listener.onState?.(state));
    this.#changed();
  }

  #onKnock(knock: KnockMessage): void {
    const isNew = this.#approvalRequests.add(knock);
    this.#tell((listener) => listener.onApprovalRequest?.(knock, isNew));
    if (isNew) this.#changed();
  }

  #onProblem(problem: ConnectionProblem): void {
    const { code } = problem;
    // The others end one visitor's connection, and there is nothing to do about that.
    if (code.startsWith('local-') || code.startsWith('host-')) {
      if (this.#localProblem === undefined) this.#localNews = {};
      this.#localProblem = problem;
      this.#changed();
    }
    this.#tellProblem(problem);
  }

  /** Every visitor may cause a problem, so each kind is told at most once per {@link PROBLEM_INTERVAL_MS}. */
  #tellProblem(problem: ConnectionProblem): void {
    const { code } = problem;
    const at = this.#options.clock.monotonic();
    const last = this.#toldProblems.get(code);
    if (last !== undefined && at - last.at < PROBLEM_INTERVAL_MS) {
      last.leftOut += 1;
      return;
    }
    this.#toldProblems.set(code, { at, leftOut: 0 });
    const told = last === undefined || last.leftOut === 0 ? problem : { ...problem, leftOut: last.leftOut };
    this.#tell((listener) => listener.onProblem?.(told));
  }

  #changed(): void {
    this.#tell((listener) => listener.onChange?.());
  }

  #tell(tell: (listener: TunnelListener) => void): void {
    for (const listener of this.#listeners) tell(listener);
  }
}
