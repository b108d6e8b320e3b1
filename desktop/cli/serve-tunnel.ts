/** One tunnel of `culvert http` or `culvert start`, from its creation to its end. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { type Clock, Deadlines, type Timer } from '../client/clock.ts';
import { type Claim, type RelayAccess, ServedElsewhere } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import type { TunnelState } from '../client/control/tunnel-session.ts';
import type { OfflineReason } from '../client/control/verdict.ts';
import { describeFailure, type ExitCode, exitCodeOf, exitCodeOfFailure } from '../client/failures.ts';
import { runtimeFolder } from '../client/inspector/inspector-protocol.ts';
import { type InspectedTunnel, InspectorServer } from '../client/inspector/inspector-server.ts';
import { Replayer } from '../client/inspector/replay.ts';
import type { RequestLog } from '../client/inspector/request-log.ts';
import { LocalDialer } from '../client/local/local-dialer.ts';
import { replacementHost } from '../client/local/local-error.ts';
import { textOf } from '../client/messages.ts';
import { ApiClient, createRequest, type CreateRequest } from '../client/relay/api-client.ts';
import { withoutTokens } from '../client/relay/api-responses.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { createTunnelClient } from '../client/tunnel-client.ts';
import { EXPIRY_FIRST_WARNING_MS, EXPIRY_LAST_WARNING_MS, EXPIRY_LOOK_MS } from './limits.ts';
import type { Output, Reporter } from './reporter.ts';

const CLOSED = 'Tunnel closed.';

export interface ServeOptions {
  readonly access: RelayAccess;
  readonly spec: TunnelSpec;
  readonly reporter: Reporter;
  /** records what visitors ask for */
  readonly log: RequestLog;
  readonly output: Output;
  /** aborted by Ctrl-C */
  readonly interrupted: AbortSignal;
  /** where requests are recorded */
  readonly inspection: Inspection | undefined;
  readonly clock: Clock;
  /** told how recorded requests can be repeated */
  readonly onReplay?: ((replay: (id: number) => Promise<number>) => void) | undefined;
  /** told the address when visitors first reach the tunnel */
  readonly onAddress?: ((url: string) => void) | undefined;
  /** what becomes of the name that is wanted; `create` without it */
  readonly claim?: Claim | undefined;
  /** Asks the relay for the tunnel; usually `createTunnel` of an {@link ApiClient}. */
  readonly create?: ((api: ApiClient, request: CreateRequest) => Promise<Tunnel>) | undefined;
}

/** @returns when the tunnel is offline for good; one that was interrupted has been closed at the relay */
export async function serveTunnel(options: ServeOptions): Promise<ExitCode> {
  const { access, spec, reporter, output, interrupted, claim } = options;
  const api = new ApiClient(access.relay, access.key, access.network);
  const create = options.create ?? ((_api, request) => api.createTunnel(request));
  let tunnel: Tunnel;
  try {
    if (claim === 'leave') throw new ServedElsewhere(spec.name ?? '');
    const request = createRequest(spec);
    tunnel = await create(api, claim === 'take-over' ? { ...request, take_over: true } : request);
  } catch (error) {
    const isStopped = interrupted.aborted && error === interrupted.reason;
    reporter.offline(
      isStopped ? 'stopped' : 'failed',
      isStopped ? 'Stopped before the tunnel was created.' : describeFailure(error),
    );
    return isStopped ? exitCodeOf('stopped') : exitCodeOfFailure(error);
  }
  const end = await serve(options, api, tunnel);
  const why = end.reason === 'stopped' ? await close(api, tunnel, output) : lastWords(end);
  reporter.offline(end.reason, why);
  return exitCodeOf(end.reason);
}

/** Nobody has to lose a tunnel to the clock a second time. */
function lastWords({ reason, why }: { reason: OfflineReason; why: string }): string {
  if (reason !== 'expired') return why;
  return `${why} For a longer lifetime, use --ttl, or use --idle to keep the tunnel open while it has traffic. To extend a live tunnel, run "culvert extend".`;
}

/** Runs the tunnel until it is permanently offline, and reports why. */
function serve(
  { access, spec, reporter, log, interrupted, inspection, clock, onReplay, onAddress }: ServeOptions,
  api: ApiClient,
  tunnel: Tunnel,
): Promise<{ reason: OfflineReason; why: string }> {
  return new Promise((resolve) => {
    const local = {
      host: spec.localHost,
      port: spec.port,
      https: spec.localHttps,
      waitMs: spec.wait * 1000,
      upstream: spec.upstream,
    };
    let isFirst = true;
    const shown = withoutTokens(tunnel);
    const deadlines = new Deadlines(clock);
    const replayer = new Replayer(log, new LocalDialer(local, deadlines), deadlines);
    onReplay?.((request) => replayer.replay(request));
    const host = replacementHost(spec.hostHeader, local) ?? new URL(tunnel.public_url).host;
    const hide = inspection?.show(shown, { replayer, log, host });
    const expiry = new ExpiryWatch({
      clock,
      fetchTunnel: (id) => api.getTunnel(id),
      warn: (now, leftMs) => reporter.expiring(now, leftMs),
    });
    const session = createTunnelClient({
      relay: access.relay,
      key: access.key,
      tunnelId: tunnel.id,
      local,
      hostHeader: spec.hostHeader,
      compress: spec.compress,
      network: access.network,
      recorder: log,
      onState,
      onProblem: (problem) => reporter.problem(problem),
      onKnock: (knock) => reporter.approvalRequest(knock, tunnel),
    });
    const stop = (): void => session.stop();
    interrupted.addEventListener('abort', stop, { once: true });
    // Ctrl-C may have come while the tunnel was being created.
    if (interrupted.aborted) stop();
    else {
      expiry.start(tunnel);
      session.start();
    }

    function onState(state: TunnelState): void {
      switch (state.name) {
        case 'idle':
        case 'connecting':
          break;
        case 'online':
          // Tokens are shown once.
          reporter.online({ ...(isFirst ? tunnel : shown), online: true });
          if (isFirst) onAddress?.(tunnel.public_url);
          isFirst = false;
          break;
        case 'reconnecting':
          reporter.reconnecting(state.attempt, state.retryInMs, textOf(state.why));
          break;
        case 'offline':
          interrupted.removeEventListener('abort', stop);
          expiry.stop();
          hide?.();
          resolve({ reason: state.reason, why: textOf(state.why) });
          break;
      }
    }
  });
}

/** @returns what happened to it */
async function close(api: ApiClient, tunnel: Tunnel, output: Output): Promise<string> {
  try {
    await api.closeTunnel(tunnel.id);
    return CLOSED;
  } catch (error) {
    // Closed or expired in the meantime, which was the goal.
    if (error instanceof RelayRefusal && error.isOwn && error.status === 404) return CLOSED;
    const until = tunnel.idle_ttl ? `${tunnel.ttl} after its last traffic` : tunnel.expires_at;
    output.err(`culvert: The tunnel could not be closed and expires ${until}. ${describeFailure(error)}\n`);
    return 'The command stopped, but the tunnel was not closed.';
  }
}

/* Warns before a tunnel ends. The relay is asked first, because others may have extended it, and traffic may have. */

const WARNINGS_MS = [EXPIRY_FIRST_WARNING_MS, EXPIRY_LAST_WARNING_MS];

export interface ExpiryWatchOptions {
  readonly clock: Clock;
  /** Asks the relay how the tunnel is. */
  readonly fetchTunnel: (id: string) => Promise<Tunnel>;
  /** @param leftMs ms until it ends */
  readonly warn: (tunnel: Tunnel, leftMs: number) => void;
}

export class ExpiryWatch {
  readonly #options: ExpiryWatchOptions;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(options: ExpiryWatchOptions) {
    this.#options = options;
  }

  /** A tunnel that begins with less time than a warning is about is not warned of that. */
  start(tunnel: Tunnel): void {
    this.#wait(tunnel, Infinity);
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /** @param warned ms before its end that the last warning was about */
  #wait(tunnel: Tunnel, warned: number): void {
    const { clock } = this.#options;
    const left = this.#left(tunnel);
    const next = WARNINGS_MS.find((mark) => mark < left && mark < warned);
    // The tunnel may still be extended after the last warning.
    const wait = next === undefined ? EXPIRY_LOOK_MS : left - next;
    this.#timer = clock.setTimeout(() => void this.#look(tunnel, next ?? 0, warned), wait);
  }

  async #look(known: Tunnel, mark: number, warned: number): Promise<void> {
    const { fetchTunnel, warn } = this.#options;
    // If the relay is unreachable, its last answer counts.
    const tunnel = await fetchTunnel(known.id).catch(() => known);
    if (this.#isOver) return;
    const isMoved = tunnel.expires_at !== known.expires_at;
    const isDue = mark > 0 && !isMoved;
    if (isDue) warn(tunnel, this.#left(tunnel));
    this.#wait(tunnel, isMoved ? Infinity : isDue ? mark : warned);
  }

  #left({ expires_at }: Tunnel): number {
    return Date.parse(expires_at) - this.#options.clock.now();
  }
}

/* What `culvert inspect` can see of this process. */

export class Inspection {
  readonly #server: InspectorServer;

  private constructor(server: InspectorServer) {
    this.#server = server;
  }

  /**
   * If nobody can inspect the process, tunnels are served all the same.
   *
   * @returns `undefined` then, after saying why
   */
  static async start(env: NodeJS.ProcessEnv, output: Output): Promise<Inspection | undefined> {
    try {
      const server = new InspectorServer(runtimeFolder(env));
      await server.start();
      process.once('exit', () => server.stop());
      return new Inspection(server);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      output.err(`culvert: "culvert inspect" cannot find this process: ${why}.\n`);
      return undefined;
    }
  }

  /**
   * Makes the recorded requests of a tunnel available to inspect and to repeat.
   *
   * @returns call it once the tunnel has ended
   */
  show(
    { id, slug, public_url }: Tunnel,
    { replayer, log, host }: Pick<InspectedTunnel, 'replayer' | 'log' | 'host'>,
  ): () => void {
    const inspected = { id, slug, publicUrl: public_url, log, replayer, host };
    this.#server.add(inspected);
    return () => this.#server.remove(inspected);
  }
}
