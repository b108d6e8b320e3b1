/** `culvert http`: creates a tunnel, serves it, and closes it at the end. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { ApiClient, type CreateRequest } from '../engine/api-client.ts';
import { RelayRefusal, RelayUnreachable } from '../engine/errors.ts';
import { localPort } from '../engine/local-target.ts';
import { createTunnelClient } from '../engine/tunnel-client.ts';
import type { TunnelState } from '../engine/tunnel-session.ts';
import type { OfflineReason } from '../engine/verdict.ts';
import type { HttpCommand } from './arguments.ts';
import { type ExitCode, exitCodeOf, exitCodeOfFailure } from './exit-code.ts';
import type { Output, Reporter } from './reporter.ts';

/**
 * @param interrupted aborted by Ctrl-C
 * @returns when the tunnel is offline for good; one that was interrupted has been closed at the relay
 */
export async function runHttp(
  command: HttpCommand,
  reporter: Reporter,
  output: Output,
  interrupted: AbortSignal,
): Promise<ExitCode> {
  const api = new ApiClient(command.relay, command.key);
  let tunnel: Tunnel;
  try {
    tunnel = await api.createTunnel(createRequest(command));
  } catch (error) {
    reporter.offline('failed', describeFailure(error));
    return exitCodeOfFailure(error);
  }
  const end = await serve(command, tunnel, reporter, interrupted);
  if (end.reason === 'stopped') await close(api, tunnel, output);
  reporter.offline(end.reason, end.why);
  return exitCodeOf(end.reason);
}

function createRequest({ port, name, ttl, idle }: HttpCommand): CreateRequest {
  return {
    local_port: port,
    ...(name === undefined ? {} : { name }),
    ...(ttl === undefined ? {} : { ttl }),
    idle_ttl: idle,
  };
}

/** Runs the tunnel until it is offline for good, and says why it is. */
function serve(
  { relay, key, port }: HttpCommand,
  tunnel: Tunnel,
  reporter: Reporter,
  interrupted: AbortSignal,
): Promise<{ reason: OfflineReason; why: string }> {
  return new Promise((resolve) => {
    const session = createTunnelClient({
      relay,
      key,
      tunnelId: tunnel.id,
      local: localPort(port),
      onState,
      onProblem: (problem) => reporter.problem(problem),
    });
    const stop = (): void => session.stop();
    interrupted.addEventListener('abort', stop, { once: true });
    // Ctrl-C may have come while the tunnel was being created.
    if (interrupted.aborted) stop();
    else session.start();

    function onState(state: TunnelState): void {
      switch (state.name) {
        case 'idle':
        case 'connecting':
          break;
        case 'online':
          reporter.online(tunnel);
          break;
        case 'reconnecting':
          reporter.reconnecting(state.attempt, state.retryInMs, state.why);
          break;
        case 'offline':
          interrupted.removeEventListener('abort', stop);
          resolve(state);
          break;
      }
    }
  });
}

async function close(api: ApiClient, tunnel: Tunnel, output: Output): Promise<void> {
  try {
    await api.closeTunnel(tunnel.id);
  } catch (error) {
    // Closed or expired in the meantime: what was wanted.
    if (error instanceof RelayRefusal && error.status === 404) return;
    const until = tunnel.idle_ttl ? `${tunnel.ttl} after its last traffic` : tunnel.expires_at;
    output.err(`The tunnel could not be closed and ends ${until}: ${describeFailure(error)}\n`);
  }
}

/** What went wrong with a call of the REST interface, and what to do. */
export function describeFailure(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof RelayUnreachable) return `${text}. Check --relay or CULVERT_RELAY.`;
  if (!(error instanceof RelayRefusal)) return `${text}.`;
  switch (error.status) {
    case 401:
      return `The relay refused the API key: ${text}. Check --key or CULVERT_API_KEY.`;
    case 409:
      return `The relay refused: ${text}. Choose another --name, or leave it out for a random one.`;
    case 429: {
      const seconds = Math.ceil((error.retryAfterMs ?? 0) / 1000);
      return `The relay refused: ${text}. Try again in ${seconds === 0 ? 'a minute' : `${seconds} s`}.`;
    }
    default:
      return `The relay refused: ${text}.`;
  }
}
