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
import type { Host } from '../../client/host/host.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import type { RequestSummary } from '../../client/inspector/records.ts';
import type { InspectorServer } from '../../client/inspector/inspector-server.ts';
import type { Replayer } from '../../client/inspector/replay.ts';
import type { RequestLog } from '../../client/inspector/request-log.ts';
import { textOf } from '../../client/messages.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import type { Output, Reporter } from '../output/reporter.ts';
import { ToolFailure } from './tool-json.ts';

/**
 * Maximum number of tunnels that `culvert mcp` serves at a time.
 * @limit owner: Tunnels that `culvert mcp` serves at the same time | `open_tunnel` fails until one is closed
 */
const MCP_TUNNELS_MAX = 8;
/** How long a new tunnel of `culvert mcp` may take to come online before it is closed again. */
const MCP_OPEN_TIMEOUT_MS = 45_000;

export interface AgentTunnel {
  readonly id: string;
  readonly slug: string;
  readonly port: number;
  readonly log: RequestLog;
  readonly replayer: Replayer;
  /** as the agent has asked for it, with its secrets */
  access: Access;
  /** the same as the relay showed it then */
  shownAccess: AccessView;
  /** the last request that `wait_for_request` has returned */
  lastWaited: number;
  readonly state: ServedTunnel['state']['name'];
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
  /** also those that are still opening */
  readonly #ends = new Set<{ readonly stop: AbortController; readonly ended: Promise<unknown> }>();
  readonly #over = new AbortController();
  /** serves the tunnels, and lets `culvert inspect` see them */
  #loading: Promise<{ readonly host: Host; readonly inspector: InspectorServer | undefined }> | undefined;
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
    (await this.#loading)?.inspector?.stop();
  }

  async #serve(
    spec: TunnelSpec,
    stop: AbortController,
    opening: PromiseWithResolvers<Tunnel>,
  ): Promise<void> {
    const { clock, output } = this.#options;
    const { serveTunnel } = await import('../serve/serve-tunnel.ts');
    const { host } = await (this.#loading ??= this.#load());
    const ended = Promise.withResolvers<string>();
    let tunnel: AgentTunnel | undefined;
    const reporter: Reporter = {
      waiting: () => {},
      opened: (served) => (tunnel = agentTunnel(served, spec, () => (stop.abort(), ended.promise))),
      online: (shown) => {
        if (tunnel !== undefined) this.#tunnels.set(shown.id, tunnel);
        opening.resolve(shown);
      },
      reconnecting: () => {},
      problem: () => {},
      approvalRequest: () => {},
      expiring: () => {},
      offline: (_reason, why) => {
        this.#tunnels.delete(tunnel?.id ?? '');
        opening.reject(new ToolFailure(why));
        ended.resolve(why);
      },
    };
    const claims = await claimNames(this.api, [spec], { from: 'program', made: host.made });
    const claim = claims.get(spec.name ?? '');
    await serveTunnel({ host, spec, reporter, output, interrupted: stop.signal, clock, claim });
    // The list of an agent has only live tunnels.
    const served = host.tunnels.find(({ isEnded }) => isEnded);
    if (served !== undefined) host.forget(served);
  }

  async #load(): Promise<{ host: Host; inspector: InspectorServer | undefined }> {
    const { access, clock, output } = this.#options;
    const { hostOf } = await import('../serve/serve-tunnel.ts');
    const { startInspector } = await import('../serve/inspection.ts');
    const inspector = await startInspector(process.env, output);
    return { host: hostOf(access, inspector, clock), inspector };
  }
}

function agentTunnel(served: ServedTunnel, spec: TunnelSpec, close: () => Promise<string>): AgentTunnel {
  const { tunnel, log, replayer } = served;
  return {
    id: tunnel.id,
    slug: tunnel.slug,
    port: tunnel.local_port,
    log,
    replayer,
    access: spec.access,
    shownAccess: tunnel.access,
    lastWaited: 0,
    get state() {
      return served.state.name;
    },
    get problem() {
      return served.localProblem && textOf(served.localProblem.text);
    },
    close,
  };
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
