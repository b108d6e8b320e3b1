/** One tunnel of the list, from its creation until it is forgotten. */
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { Clock } from '../../../client/clock.ts';
import type { TunnelState } from '../../../client/control/tunnel-session.ts';
import type { OfflineReason } from '../../../client/control/verdict.ts';
import { ExpiryWatch, isKeptOpen } from '../../../client/expiry-watch.ts';
import { madeTokens, withoutTokens } from '../../../client/relay/api-responses.ts';
import type { ConnectionProblem } from '../../../client/visitors/connections.ts';
import type { KeptForm } from '../../ipc/ipc.ts';
import { type LogView, WHOLE_LOG } from '../../ipc/request-views.ts';
import type { Problem, TunnelStatus } from '../../ipc/snapshot.ts';
import type { ApprovalRequestView, TokenView, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { translateMessage } from '../../messages/message-text.ts';
import type { Connection } from '../connection.ts';
import { APPROVAL_WAIT_MS, APPROVALS_MAX } from '../limits.ts';
import { accessView } from './access.ts';
import type { SavedTunnel } from './create-form-schema.ts';
import type { Serve, Served } from './folder-service.ts';
import type { ShownLog } from './tunnel-log.ts';

interface TunnelItemOptions {
  readonly clock: Clock;
  /** whether it is extended here, unless a lifetime was chosen: a command does that itself for the tunnels that it shows */
  readonly isExtended: boolean;
  readonly serve: Serve;
  readonly log: ShownLog;
  /** Status, counters or requests have changed. */
  readonly onChange: () => void;
  /** A visitor asks for approval. */
  readonly onKnock: (tunnel: TunnelItem, knock: ApprovalRequestView) => void;
  /** The relay, not the user, has ended it. */
  readonly onEnded: (tunnel: TunnelItem, reason: OfflineReason) => void;
}

/** A sentence for the window, made each time it is shown, because the user may change the language. */
type Sentence = () => string;

/** Only the latest of these is shown, until the local service has responded to a visitor. */
interface LocalProblem {
  readonly code: string;
  readonly text: Sentence;
}

export class TunnelItem {
  readonly key: string;
  readonly log: ShownLog;
  readonly #options: TunnelItemOptions;
  #form: KeptForm;
  #tunnel: Tunnel;
  #status: TunnelStatus;
  /** why it is in that status, if that needs an explanation */
  #why: Sentence = () => '';
  #served: Served | undefined;
  /** extends it in time; `undefined` while it is not served, or if nobody here extends it */
  #expiry: ExpiryWatch | undefined;
  #localProblem: LocalProblem | undefined;
  #localNews = {};
  /** the counts of the relay and of the log when serving began */
  #counted = { requests: 0, visits: 0 };
  #password: string | undefined;
  #logView: LogView;
  /** by name, until they are copied */
  readonly #madeTokens = new Map<string, string>();
  readonly #waiting: WaitingVisitors;

  /**
   * Serves nothing yet.
   *
   * @param password that visitors have to give, if it was set here
   */
  constructor(saved: SavedTunnel, password: string | undefined, options: TunnelItemOptions) {
    this.key = saved.key;
    this.log = options.log;
    this.#options = options;
    this.#form = saved.form;
    this.#tunnel = this.#takeTokens(saved.tunnel);
    this.#password = password;
    this.#logView = saved.logView ?? WHOLE_LOG;
    this.#waiting = new WaitingVisitors(() => options.clock.now());
    this.#counted = { requests: saved.tunnel.requests, visits: options.log.visits };
    const { ended } = saved;
    this.#status = ended === undefined ? { name: 'connecting' } : { name: 'ended', ...ended };
    if (ended !== undefined) this.#why = () => ended.why;
    this.log.subscribe(({ status, isImported }) => {
      // The status of an imported request is another server's.
      if (!isImported && status !== undefined && status !== 502) this.#localProblem = undefined;
      options.onChange();
    });
  }

  get form(): KeptForm {
    return this.#form;
  }

  /** as the relay has shown it last */
  get tunnel(): Tunnel {
    return this.#tunnel;
  }

  /** Requests so far: the relay's count, or the count of the log if that is higher. The log knows of a request earlier. */
  get requests(): number {
    const { requests, visits } = this.#counted;
    return Math.max(this.#tunnel.requests, requests + this.log.visits - visits);
  }

  get status(): TunnelStatus {
    return 'why' in this.#status ? { ...this.#status, why: this.#why() } : this.#status;
  }

  get localProblem(): Problem | undefined {
    const problem = this.#localProblem;
    return problem && { code: problem.code, text: problem.text() };
  }

  /** the password that was set here last; {@link TunnelItem.lock} tells whether visitors need it */
  get password(): string | undefined {
    return this.#password;
  }

  get lock(): TunnelAccessView {
    return accessView(this.#tunnel.access, this.#password);
  }

  get tokens(): readonly TokenView[] {
    const { tokens = [] } = this.#tunnel.access;
    return tokens.map(({ name, last_used_at }) => ({
      name,
      usedAt: last_used_at === undefined ? undefined : Date.parse(last_used_at),
      canCopy: this.#madeTokens.has(name),
    }));
  }

  /** A token that was made here and not copied yet. */
  madeToken(name: string): string | undefined {
    return this.#madeTokens.get(name);
  }

  /** It can no longer be copied. */
  forgetToken(name: string): void {
    this.#madeTokens.delete(name);
    this.#options.onChange();
  }

  /** pending approval requests */
  get knocks(): readonly ApprovalRequestView[] {
    return this.#waiting.knocks;
  }

  /** what of its request log the user wants to see */
  get logView(): LogView {
    return this.#logView;
  }

  /** what serves it now: another one each time that it is served again */
  get served(): Served | undefined {
    return this.#served;
  }

  /**
   * Another one each time that it is served again, or that a visitor is the first to meet a problem with its local
   * service.
   */
  get localNews(): object {
    return this.#localNews;
  }

  get isEnded(): boolean {
    return this.#status.name === 'ended';
  }

  get saved(): SavedTunnel {
    const { key, form, tunnel, logView } = this;
    const ended =
      this.#status.name === 'ended' ? { reason: this.#status.reason, why: this.#why() } : undefined;
    return { key, form, tunnel, ended, logView };
  }

  /** Serves the tunnel as the relay has it, or its replacement. */
  serve(connection: Connection, tunnel = this.#tunnel, password = this.#password): void {
    this.#served?.stop();
    this.#tunnel = this.#takeTokens(tunnel);
    this.#counted = { requests: tunnel.requests, visits: this.log.visits };
    this.#password = password;
    this.#localProblem = undefined;
    this.#localNews = {};
    this.#status = { name: 'connecting' };
    let isCurrent = true;
    const served = this.#options.serve({
      connection,
      tunnelId: tunnel.id,
      urls: tunnel.urls,
      form: this.#form,
      recorder: this.log.recorder,
      onState: (state) => {
        if (isCurrent) this.#onState(state);
      },
      onProblem: (problem) => {
        if (isCurrent) this.#onProblem(problem);
      },
      onKnock: (knock) => {
        if (isCurrent) this.#onKnock(knock);
      },
    });
    this.#served = {
      suspend: () => served.suspend(),
      wake: () => served.wake(),
      stop: () => {
        isCurrent = false;
        served.stop();
      },
    };
    this.#watchExpiry(connection);
    this.#options.onChange();
  }

  #watchExpiry({ api }: Connection): void {
    const { clock, isExtended } = this.#options;
    this.#expiry?.stop();
    this.#expiry =
      isExtended && isKeptOpen(this.#form)
        ? new ExpiryWatch(this.#tunnel, {
            clock,
            api,
            isKept: true,
            onExtended: (tunnel) => this.update(tunnel),
          })
        : undefined;
    this.#expiry?.start();
  }

  /** Updates the counters and the remaining time from the relay. */
  update(tunnel: Tunnel): void {
    this.#tunnel = this.#takeTokens(tunnel);
    this.#expiry?.update(this.#tunnel);
    this.#options.onChange();
  }

  /** Visitors have to give another password, or none, as the relay has it now. */
  relock(tunnel: Tunnel, password: string | undefined): void {
    this.#password = password;
    if (tunnel.access.knock !== true) this.#waiting.clear();
    this.update(tunnel);
  }

  /** The window shows it already. */
  viewLog(view: LogView): void {
    this.#logView = view;
  }

  /** A visitor no longer waits. */
  answered(knockId: string): void {
    this.#waiting.remove(knockId);
    this.#options.onChange();
  }

  suspend(): void {
    this.#served?.suspend();
  }

  wake(): void {
    this.#served?.wake();
  }

  /** Visitors no longer reach the local port; what happens to the tunnel at the relay is up to the caller. */
  end(reason: string, why: Sentence): void {
    this.#served?.stop();
    this.#served = undefined;
    this.#expiry?.stop();
    this.#expiry = undefined;
    this.#localProblem = undefined;
    this.#waiting.clear();
    this.#why = why;
    this.#status = { name: 'ended', reason, why: '' };
    this.#options.onChange();
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
      case 'online':
        this.#status = { name: state.name };
        if (state.name === 'online') this.#expiry?.wake();
        break;
      case 'reconnecting':
        this.#why = () => translateMessage(state.why);
        this.#status = {
          name: 'reconnecting',
          retryAt: this.#options.clock.now() + state.retryInMs,
          why: '',
        };
        break;
      case 'offline':
        this.end(state.reason, () => translateMessage(state.why));
        this.#options.onEnded(this, state.reason);
        return;
    }
    this.#options.onChange();
  }

  #onKnock({ id, address, agent }: ApprovalRequestView): void {
    const knock = { id, address, agent };
    if (!this.#waiting.add(knock)) return;
    this.#options.onKnock(this, knock);
    this.#options.onChange();
  }

  #onProblem({ code, text }: ConnectionProblem): void {
    // The others end one visitor's connection, and there is nothing to do about that.
    if (!code.startsWith('local-') && !code.startsWith('host-')) return;
    if (this.#localProblem === undefined) this.#localNews = {};
    this.#localProblem = { code, text: () => translateMessage(text) };
    this.#options.onChange();
  }
}

/* The pending approval requests of one tunnel. */

interface Waiting {
  readonly knock: ApprovalRequestView;
  /** wall-clock ms of this machine at which the relay denies the request */
  readonly until: number;
}

export class WaitingVisitors {
  readonly #now: () => number;
  #waiting: readonly Waiting[] = [];

  /** @param now wall-clock ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** the longest waiting first */
  get knocks(): readonly ApprovalRequestView[] {
    const now = this.#now();
    return this.#waiting.filter(({ until }) => until > now).map(({ knock }) => knock);
  }

  /**
   * @returns whether it is new and there is a free slot: relays repeat pending requests when they reconnect, and queue
   *   no more
   */
  add({ id, address, agent }: ApprovalRequestView): boolean {
    const now = this.#now();
    const others = this.#waiting.filter(({ until }) => until > now);
    if (others.length >= APPROVALS_MAX || others.some(({ knock }) => knock.id === id)) return false;
    this.#waiting = [...others, { knock: { id, address, agent }, until: now + APPROVAL_WAIT_MS }];
    return true;
  }

  remove(id: string): void {
    this.#waiting = this.#waiting.filter(({ knock }) => knock.id !== id);
  }

  clear(): void {
    this.#waiting = [];
  }
}
