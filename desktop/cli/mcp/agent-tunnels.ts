/**
 * The tunnels that an agent has opened. They live as long as the server of the agent. The first one loads the client, so
 * that the server starts without it.
 */
import type { Access, AccessView } from '../../../shared/access.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../client/clock.ts';
import { claimNames } from '../../client/config/claims.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import type { InspectedTunnel } from '../../client/inspector/inspector-server.ts';
import type { RequestSummary } from '../../client/inspector/records.ts';
import type { RequestLog } from '../../client/inspector/request-log.ts';
import { textOf } from '../../client/messages.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { MCP_OPEN_TIMEOUT_MS, MCP_TUNNELS_MAX } from '../limits.ts';
import type { Output, Reporter } from '../output/reporter.ts';
import type { Inspection } from '../serve-tunnel.ts';
import { ToolFailure } from './tool-json.ts';

/** What an agent and its user know of a connection. */
type State = 'connecting' | 'online' | 'reconnecting';

export interface AgentTunnel {
  readonly id: string;
  readonly slug: string;
  readonly port: number;
  readonly log: RequestLog;
  readonly replayer: InspectedTunnel['replayer'];
  /** as the agent has asked for it, with its secrets */
  access: Access;
  /** the same as the relay showed it then */
  shownAccess: AccessView;
  /** the last request that `wait_for_request` has returned */
  lastWaited: number;
  readonly state: State;
  /** the last reason why a visitor could not be served */
  readonly problem: string | undefined;
  /** Closes it at the relay. @returns what happened */
  readonly close: () => Promise<string>;
}

interface AgentTunnelsOptions {
  readonly access: RelayAccess;
  readonly clock: Clock;
  readonly output: Output;
}

export class AgentTunnels {
  readonly #options: AgentTunnelsOptions;
  readonly #tunnels = new Map<string, AgentTunnel>();
  /** ids of all that were opened here: one that could not be closed may be opened again */
  readonly #made = new Set<string>();
  /** also those that are still opening */
  readonly #ends = new Set<{ readonly stop: AbortController; readonly ended: Promise<unknown> }>();
  readonly #over = new AbortController();
  /** lets `culvert inspect` see the tunnels */
  #inspection: Promise<Inspection | undefined> | undefined;
  readonly api: ApiClient;

  constructor(options: AgentTunnelsOptions) {
    const { relay, key, network } = options.access;
    this.#options = options;
    this.api = new ApiClient(relay, key, network);
  }

  get all(): readonly AgentTunnel[] {
    return [...this.#tunnels.values()];
  }

  /**
   * @param name id or slug
   * @throws ToolFailure for any other tunnel
   */
  find(name: string): AgentTunnel {
    const wanted = name.toLowerCase();
    const found = this.#tunnels.get(wanted) ?? this.all.find(({ slug }) => slug === wanted);
    if (found !== undefined) return found;
    const slugs = this.all.map(({ slug }) => slug).join(', ');
    throw new ToolFailure(
      `You have no open tunnel ${JSON.stringify(name)}. ${slugs === '' ? 'Open one with open_tunnel.' : `Yours are: ${slugs}.`} ` +
        'Tunnels that others have opened are not accessible here.',
    );
  }

  /**
   * Opens a tunnel, and waits until it is online.
   *
   * @returns the tunnel as the relay has created it, with tokens that it has made
   * @throws ToolFailure
   */
  async open(spec: TunnelSpec, cancelled: AbortSignal): Promise<Tunnel> {
    if (this.#ends.size >= MCP_TUNNELS_MAX)
      throw new ToolFailure(
        `${MCP_TUNNELS_MAX} tunnels are open, which is the maximum. Close one with close_tunnel.`,
      );
    const opening = Promise.withResolvers<Tunnel>();
    const stop = new AbortController();
    const end = { stop, ended: this.#serve(spec, stop, opening).catch(opening.reject) };
    this.#ends.add(end);
    void end.ended.finally(() => this.#ends.delete(end));
    const giveUp = (why: string) => (): void => {
      opening.reject(new ToolFailure(why));
      stop.abort();
    };
    const cancel = giveUp('The call was cancelled.');
    const timer = this.#options.clock.setTimeout(
      giveUp(
        `The tunnel did not come online within ${MCP_OPEN_TIMEOUT_MS / 1000} s, so it was closed. Use diagnose to find the cause.`,
      ),
      MCP_OPEN_TIMEOUT_MS,
    );
    cancelled.addEventListener('abort', cancel, { once: true });
    if (cancelled.aborted || this.#over.signal.aborted) cancel();
    try {
      return await opening.promise;
    } finally {
      timer.cancel();
      cancelled.removeEventListener('abort', cancel);
    }
  }

  /** Closes all of them. @returns once the relay knows */
  async closeAll(): Promise<void> {
    this.#over.abort();
    for (const { stop } of this.#ends) stop.abort();
    await Promise.all([...this.#ends].map(({ ended }) => ended));
    (await this.#inspection)?.stop();
  }

  async #serve(
    spec: TunnelSpec,
    stop: AbortController,
    opening: PromiseWithResolvers<Tunnel>,
  ): Promise<void> {
    const { access, clock, output } = this.#options;
    const { Inspection, serveTunnel } = await import('../serve-tunnel.ts');
    const { RequestLog } = await import('../../client/inspector/request-log.ts');
    const inspection = await (this.#inspection ??= Inspection.start(process.env, output));
    const log = new RequestLog(clock);
    let replayer: InspectedTunnel['replayer'] | undefined;
    let state: State = 'connecting';
    let problem: string | undefined;
    let id = '';
    const ended = Promise.withResolvers<string>();
    const add = (tunnel: Tunnel): void => {
      if (replayer === undefined) return;
      ({ id } = tunnel);
      this.#made.add(id);
      this.#tunnels.set(id, {
        id,
        slug: tunnel.slug,
        port: spec.port,
        log,
        replayer,
        access: spec.access,
        shownAccess: tunnel.access,
        lastWaited: 0,
        get state() {
          return state;
        },
        get problem() {
          return problem;
        },
        close() {
          stop.abort();
          return ended.promise;
        },
      });
    };
    const reporter: Reporter = {
      waiting: () => {},
      online: (tunnel) => {
        state = 'online';
        if (id === '') add(tunnel);
        opening.resolve(tunnel);
      },
      reconnecting: () => (state = 'reconnecting'),
      problem: ({ text }) => (problem = textOf(text)),
      approvalRequest: () => {},
      expiring: () => {},
      offline: (_reason, why) => {
        this.#tunnels.delete(id);
        opening.reject(new ToolFailure(why));
        ended.resolve(why);
      },
    };
    const claims = await claimNames(this.api, [spec], { from: 'program', made: this.#made });
    await serveTunnel({
      access,
      spec,
      reporter,
      log,
      output,
      interrupted: stop.signal,
      inspection: {
        show(tunnel, parts) {
          ({ replayer } = parts);
          return inspection?.show(tunnel, parts) ?? (() => {});
        },
      },
      clock,
      claim: claims.get(spec.name ?? ''),
    });
  }
}

/* Waits for a request of a visitor that matches. */

/** What a request must be; `undefined` matches all. */
interface Wanted {
  readonly method: string | undefined;
  /** the path without its query; one that ends in `*` matches everything that begins with the rest */
  readonly path: string | undefined;
  readonly status: number | undefined;
}

const SWITCHING_PROTOCOLS = 101;

/**
 * @param after the number of a request; only later ones count, including those that have already arrived
 * @returns the earliest complete request that matches; `undefined` if none arrives in time, or `cancelled` aborts
 */
export function waitForRequest(
  log: Pick<RequestLog, 'list' | 'subscribe'>,
  wanted: Wanted,
  { after, ms, clock }: { readonly after: number; readonly ms: number; readonly clock: Clock },
  cancelled: AbortSignal,
): Promise<RequestSummary | undefined> {
  const isFound = (summary: RequestSummary): boolean =>
    summary.id > after && isOver(summary) && isWanted(summary, wanted);
  const arrived = log
    .list()
    .filter(isFound)
    .toSorted((one, other) => one.id - other.id)[0];
  if (arrived !== undefined || cancelled.aborted) return Promise.resolve(arrived);
  return new Promise((resolve) => {
    const end = (found?: RequestSummary): void => {
      unsubscribe();
      timer.cancel();
      cancelled.removeEventListener('abort', cancel);
      resolve(found);
    };
    const cancel = (): void => end();
    const unsubscribe = log.subscribe((summary) => {
      if (isFound(summary)) end(summary);
    });
    const timer = clock.setTimeout(cancel, ms);
    cancelled.addEventListener('abort', cancel, { once: true });
  });
}

/** A WebSocket is open for long after its response. */
function isOver({ durationMs, status, replayOf, isImported }: RequestSummary): boolean {
  const isVisitors = replayOf === undefined && !isImported;
  return isVisitors && (durationMs !== undefined || status === SWITCHING_PROTOCOLS);
}

function isWanted(summary: RequestSummary, { method, path, status }: Wanted): boolean {
  return (
    (method === undefined || summary.method.toUpperCase() === method.toUpperCase()) &&
    (status === undefined || summary.status === status) &&
    (path === undefined || isPath(summary.target.split('?', 1)[0] ?? '', path))
  );
}

function isPath(path: string, wanted: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
