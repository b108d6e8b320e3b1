/** One tunnel of `culvert http` or `culvert start`, from its creation to its end. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { TunnelSpec } from '../../config/tunnel-spec.ts';
import type { TunnelState } from '../../engine/control/tunnel-session.ts';
import type { OfflineReason } from '../../engine/control/verdict.ts';
import type { Clock } from '../../engine/clock.ts';
import { Deadlines } from '../../engine/deadlines.ts';
import { Replayer } from '../../engine/inspector/replay.ts';
import { replacementHost } from '../../engine/local/host-header.ts';
import { LocalDialer } from '../../engine/local/local-dialer.ts';
import type { RequestLog } from '../../engine/inspector/request-log.ts';
import { ApiClient, createRequest, type CreateRequest } from '../../engine/relay/api-client.ts';
import { RelayRefusal } from '../../engine/relay/errors.ts';
import { createTunnelClient } from '../../engine/tunnel-client.ts';
import { type Claim, ServedElsewhere } from './claim-names.ts';
import type { RelayAccess } from '../relay-access.ts';
import { type ExitCode, exitCodeOf, exitCodeOfFailure } from '../exit-code.ts';
import { ExpiryWatch } from './expiry-watch.ts';
import { describeFailure } from '../failure.ts';
import type { Inspection } from './inspection.ts';
import type { Output, Reporter } from '../reporter.ts';
import { textOf } from '../../engine/said/said.ts';

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
      isStopped ? 'Stopped before there was a tunnel.' : describeFailure(error),
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
  return `${why} --ttl D lets one live longer, --idle for as long as it has traffic, and "culvert extend" prolongs it while it lives.`;
}

/** Runs the tunnel until it is offline for good, and says why it is. */
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
    };
    let isFirst = true;
    const deadlines = new Deadlines(clock);
    const replayer = new Replayer(log, new LocalDialer(local, deadlines), deadlines);
    onReplay?.((request) => replayer.replay(request));
    const host = replacementHost(spec.hostHeader, local) ?? new URL(tunnel.public_url).host;
    const hide = inspection?.show(tunnel, { replayer, log, host });
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
      network: access.network,
      recorder: log,
      onState,
      onProblem: (problem) => reporter.problem(problem),
      onKnock: (knock) => reporter.knock(knock, tunnel),
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
          reporter.online({ ...tunnel, online: true });
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
    // Closed or expired in the meantime, which is what was wanted.
    if (error instanceof RelayRefusal && error.isOwn && error.status === 404) return CLOSED;
    const until = tunnel.idle_ttl ? `${tunnel.ttl} after its last traffic` : tunnel.expires_at;
    output.err(`The tunnel could not be closed and ends ${until}: ${describeFailure(error)}\n`);
    return 'Stopped; the tunnel is not closed.';
  }
}
