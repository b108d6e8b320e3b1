/** One tunnel of `culvert http` or `culvert start`, from its creation to its end. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { type Clock, Deadlines } from '../client/clock.ts';
import { type Claim, claimRequest } from '../client/config/claims.ts';
import type { RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import type { TunnelState } from '../client/control/tunnel-session.ts';
import type { OfflineReason } from '../client/control/verdict.ts';
import { ExpiryWatch, isKeptOpen } from '../client/expiry-watch.ts';
import { describeFailure, type ExitCode, exitCodeOf, exitCodeOfFailure } from '../client/failures.ts';
import { type InspectedTunnel, InspectorServer } from '../client/inspector/inspector-server.ts';
import { runtimeFolder } from '../client/inspector/runtime-folder.ts';
import { Replayer } from '../client/inspector/replay.ts';
import type { RequestLog } from '../client/inspector/request-log.ts';
import { replacementHost } from '../client/local/local-error.ts';
import { textOf } from '../client/messages.ts';
import { ApiClient, createRequest, type CreateRequest } from '../client/relay/api-client.ts';
import { withoutTokens } from '../client/relay/api-responses.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { createTunnelClient } from '../client/tunnel-client.ts';
import { serviceOfRequest } from '../client/visitors/connections.ts';
import type { CommandWindow } from './command-window.ts';
import { lifetimeText, localTime } from './output/format.ts';
import type { Output, Reporter } from './output/reporter.ts';

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
  readonly inspection: Pick<Inspection, 'show'> | undefined;
  readonly clock: Clock;
  /** told how recorded requests can be repeated */
  readonly onReplay?: ((replay: (id: number) => Promise<number>) => void) | undefined;
  /** shows the tunnel in a browser, if somebody wants that */
  readonly window?: CommandWindow | undefined;
  /** told the address when visitors first reach the tunnel */
  readonly onAddress?: ((url: string) => void) | undefined;
  /** what happens to the live tunnel that has the wanted name; `undefined` for a new one */
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
    tunnel = await create(api, claimRequest(createRequest(spec), claim));
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

interface End {
  readonly reason: OfflineReason;
  readonly why: string;
  /** why the tunnel could not be extended */
  readonly notExtended: string | undefined;
}

/** Nobody has to lose a tunnel to the clock a second time. */
function lastWords({ reason, why, notExtended }: End): string {
  if (reason !== 'expired') return why;
  if (notExtended !== undefined) return `${why} It could not be extended. ${notExtended}`;
  return `${why} For a longer lifetime, use --ttl, or use --idle to keep the tunnel open while it has traffic. To extend a live tunnel, run "culvert extend".`;
}

/** Runs the tunnel until it is permanently offline, and reports why. */
function serve(
  { access, spec, reporter, log, interrupted, inspection, clock, onReplay, onAddress, window }: ServeOptions,
  api: ApiClient,
  tunnel: Tunnel,
): Promise<End> {
  return new Promise((resolve) => {
    const local = {
      host: spec.localHost,
      port: spec.port,
      https: spec.localHttps,
      waitMs: spec.wait * 1000,
      upstream: spec.upstream,
      hostHeader: spec.hostHeader,
    };
    let isFirst = true;
    const shown = withoutTokens(tunnel);
    let notExtended: string | undefined;
    const deadlines = new Deadlines(clock);
    const hosts = spec.hosts && { tunnel, ports: spec.hosts };
    const replayer = new Replayer(log, serviceOfRequest(local, hosts, deadlines), deadlines);
    onReplay?.((request) => replayer.replay(request));
    const host = replacementHost(local) ?? new URL(tunnel.public_url).host;
    const shownIn = window?.show({ spec, tunnel, log, replayer, wake: () => session.wake() });
    const hide = inspection?.show(shown, { replayer, log, host });
    const expiry = new ExpiryWatch(tunnel, {
      clock,
      api,
      isKept: isKeptOpen(spec),
      warn(now, leftMs, why) {
        notExtended = why === undefined ? undefined : describeFailure(why);
        reporter.expiring(now, leftMs, notExtended);
      },
    });
    const session = createTunnelClient({
      relay: access.relay,
      key: access.key,
      tunnelId: tunnel.id,
      local,
      hosts,
      headers: spec.headers,
      compress: spec.compress,
      network: access.network,
      recorder: log,
      onState,
      onProblem(problem) {
        reporter.problem(problem);
        shownIn?.onProblem(problem);
      },
      onKnock(knock) {
        reporter.approvalRequest(knock, tunnel);
        shownIn?.onKnock(knock);
      },
    });
    const stop = (): void => session.stop();
    interrupted.addEventListener('abort', stop, { once: true });
    // Ctrl-C may have come while the tunnel was being created.
    if (interrupted.aborted) stop();
    else {
      expiry.start();
      session.start();
    }

    function onState(state: TunnelState): void {
      shownIn?.onState(state);
      switch (state.name) {
        case 'idle':
        case 'connecting':
          break;
        case 'online':
          // Tokens are shown once.
          reporter.online({ ...(isFirst ? tunnel : withoutTokens(expiry.tunnel)), online: true });
          if (isFirst) onAddress?.(tunnel.public_url);
          else expiry.wake();
          isFirst = false;
          break;
        case 'reconnecting':
          reporter.reconnecting(state.attempt, state.retryInMs, textOf(state.why));
          break;
        case 'offline':
          interrupted.removeEventListener('abort', stop);
          expiry.stop();
          hide?.();
          resolve({ reason: state.reason, why: textOf(state.why), notExtended });
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
    const until = tunnel.idle_ttl
      ? `${lifetimeText(tunnel.ttl)} after its last traffic`
      : localTime(tunnel.expires_at);
    output.err(`culvert: The tunnel could not be closed and expires ${until}. ${describeFailure(error)}\n`);
    return 'The command stopped, but the tunnel was not closed.';
  }
}

/* What `culvert inspect` can see of this process. */

export class Inspection {
  readonly #server: InspectorServer;
  /** Ends the inspection; a process that exits does that by itself. */
  readonly stop = (): void => {
    process.off('exit', this.stop);
    this.#server.stop();
  };

  private constructor(server: InspectorServer) {
    this.#server = server;
    process.once('exit', this.stop);
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
