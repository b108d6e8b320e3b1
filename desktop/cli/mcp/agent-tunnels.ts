/**
 * The tunnels that an agent has opened. They live as long as the server of the agent. The first one loads the client, so
 * that the server starts without it.
 */
import type { Access, AccessView } from '../../../shared/access.ts';
import type { Clock } from '../../client/clock.ts';
import { claimNames } from '../../client/config/claims.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import type { Host } from '../../client/host/host.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import { isAnswered, type RequestSummary } from '../../client/inspector/records.ts';
import type { RequestLog } from '../../client/inspector/request-log.ts';
import { textOf } from '../../client/messages.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import type { Output } from '../output/reporter.ts';
import { ToolFailure } from './tool-json.ts';

/**
 * Maximum number of tunnels that `culvert mcp` serves at a time.
 * @limit owner: Tunnels that `culvert mcp` serves at the same time | `open_tunnel` fails until one is closed
 */
const MCP_TUNNELS_MAX = 8;
/** How long a new tunnel of `culvert mcp` may take to come online before it is closed again. */
const MCP_OPEN_TIMEOUT_MS = 45_000;

/** A tunnel that has been online, and has not ended. */
export interface AgentTunnel {
  readonly served: ServedTunnel;
  /** as the agent has asked for it, with its secrets */
  access: Access;
  /** the same as the relay showed it then */
  shownAccess: AccessView;
  /** the last request that `wait_for_request` has returned */
  lastWaited: number;
}

interface AgentTunnelsOptions {
  readonly access: RelayAccess;
  readonly clock: Clock;
  readonly output: Output;
}

export class AgentTunnels {
  readonly #options: AgentTunnelsOptions;
  readonly #tunnels = new Map<ServedTunnel, AgentTunnel>();
  readonly #opening = new Set<Promise<AgentTunnel>>();
  readonly #over = new AbortController();
  #loading: Promise<{ readonly host: Host; readonly stop: () => void }> | undefined;
  readonly api: ApiClient;

  constructor(options: AgentTunnelsOptions) {
    const { relay, key, network } = options.access;
    this.#options = options;
    this.api = new ApiClient(relay, key, network);
  }

  get all(): readonly AgentTunnel[] {
    return [...this.#tunnels.values()];
  }

  /** What serves them. */
  get host(): Promise<Host> {
    return this.#load().then(({ host }) => host);
  }

  /**
   * @param name id or slug
   * @throws ToolFailure for any other tunnel
   */
  find(name: string): AgentTunnel {
    const wanted = name.toLowerCase();
    const found =
      this.all.find(({ served }) => served.tunnel.id === wanted) ??
      this.all.find(({ served }) => served.tunnel.slug === wanted);
    if (found !== undefined) return found;
    const slugs = this.all.map(({ served }) => served.tunnel.slug).join(', ');
    throw new ToolFailure(
      `You have no open tunnel ${JSON.stringify(name)}. ${slugs === '' ? 'Open one with open_tunnel.' : `Your tunnels: ${slugs}.`} ` +
        'You can use only tunnels that you opened in this session.',
    );
  }

  /**
   * Opens a tunnel, and waits until it is online.
   *
   * @throws ToolFailure, and what the relay refuses
   */
  async open(spec: TunnelSpec, cancelled: AbortSignal): Promise<AgentTunnel> {
    if (this.#tunnels.size + this.#opening.size >= MCP_TUNNELS_MAX)
      throw new ToolFailure(
        `${MCP_TUNNELS_MAX} tunnels are open, which is the maximum. Close one with close_tunnel.`,
      );
    const late = AbortSignal.timeout(MCP_OPEN_TIMEOUT_MS);
    const ended = AbortSignal.any([cancelled, this.#over.signal, late]);
    const opening = this.#open(spec, ended);
    this.#opening.add(opening);
    try {
      return await opening;
    } catch (error) {
      if (!ended.aborted) throw error;
      throw new ToolFailure(
        ended.reason === late.reason
          ? `The tunnel did not come online within ${MCP_OPEN_TIMEOUT_MS / 1000} s, so it was closed. Use diagnose to find the cause.`
          : 'The call was cancelled.',
      );
    } finally {
      this.#opening.delete(opening);
    }
  }

  /** Closes a tunnel at the relay. @returns what happened */
  async close(served: ServedTunnel): Promise<string> {
    const { closeTunnel } = await import('../serve/serve-tunnel.ts');
    return closeTunnel(await this.host, served, this.#options.output);
  }

  /** Closes all of them. @returns once the relay knows */
  async closeAll(): Promise<void> {
    this.#over.abort();
    await Promise.allSettled(this.#opening);
    await Promise.all(this.all.map(({ served }) => this.close(served)));
    (await this.#loading)?.stop();
  }

  async #open(spec: TunnelSpec, ended: AbortSignal): Promise<AgentTunnel> {
    const host = await this.host;
    const claims = await claimNames(this.api, [spec], { from: 'program', made: host.made });
    const claim = claims.get(spec.name ?? '');
    const patience = { clock: this.#options.clock, interrupted: ended };
    const served = await host.create({ settings: spec, access: spec.access, claim, patience });
    served.listen({
      onState: ({ name }) => {
        if (name !== 'ended') return;
        this.#tunnels.delete(served);
        host.forget(served);
      },
    });
    try {
      await online(served, ended);
    } catch (error) {
      if (!served.isEnded) await this.close(served);
      throw error;
    }
    const tunnel = { served, access: spec.access, shownAccess: served.tunnel.access, lastWaited: 0 };
    this.#tunnels.set(served, tunnel);
    return tunnel;
  }

  #load() {
    const { access, clock, output } = this.#options;
    return (this.#loading ??= import('../serve/serve-tunnel.ts').then(({ inspectedHost }) =>
      inspectedHost(access, output, clock),
    ));
  }
}

/** @throws ToolFailure if the tunnel ends first; the reason of `ended` */
function online(served: ServedTunnel, ended: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (how: () => void): void => {
      stopListening();
      ended.removeEventListener('abort', stop);
      how();
    };
    const stop = (): void => settle(() => reject(ended.reason as Error));
    const stopListening = served.listen({
      onState(state) {
        if (state.name === 'online') settle(resolve);
        else if (state.name === 'ended') settle(() => reject(new ToolFailure(textOf(state.why))));
      },
    });
    ended.addEventListener('abort', stop, { once: true });
    if (ended.aborted) stop();
  });
}

/* Waits for a request of a visitor that matches. */

/** What a request must be; `undefined` matches all. */
interface Wanted {
  readonly method: string | undefined;
  /** the path without its query; one that ends in `*` matches everything that begins with the rest */
  readonly path: string | undefined;
  readonly status: number | undefined;
}

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
    summary.id > after && isAnswered(summary) && isWanted(summary, wanted);
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

/** Only requests of visitors are waited for. */
function isWanted(summary: RequestSummary, { method, path, status }: Wanted): boolean {
  return (
    summary.replayOf === undefined &&
    !summary.isImported &&
    (method === undefined || summary.method.toUpperCase() === method.toUpperCase()) &&
    (status === undefined || summary.status === status) &&
    (path === undefined || isPath(summary.target.split('?', 1)[0] ?? '', path))
  );
}

function isPath(path: string, wanted: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
