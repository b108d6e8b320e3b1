/** Composition root of the engine: what one tunnel of this client consists of. */
import { systemClock } from './clock.ts';
import { type ConnectionProblem, Connections } from './connections.ts';
import { ControlConnection } from './control-connection.ts';
import { DataDialer } from './data-socket.ts';
import { Deadlines } from './deadlines.ts';
import { LocalDialer } from './local-dialer.ts';
import { controlUrl, type RelayAddress } from './relay-address.ts';
import { TunnelSession, type TunnelState } from './tunnel-session.ts';
import { WarmSockets } from './warm-sockets.ts';

export interface TunnelClientOptions {
  readonly relay: RelayAddress;
  /** API key */
  readonly key: string;
  readonly tunnelId: string;
  readonly localPort: number;
  readonly onState: (state: TunnelState) => void;
  readonly onProblem: (problem: ConnectionProblem) => void;
}

/**
 * Serves an existing tunnel: visitors' connections are piped to the local port.
 *
 * @returns a session that has not been started
 */
export function createTunnelClient(options: TunnelClientOptions): TunnelSession {
  const { relay, key, tunnelId, onState, onProblem } = options;
  const deadlines = new Deadlines(systemClock);
  const data = new DataDialer(relay, deadlines);
  const local = new LocalDialer(options.localPort, deadlines);
  const connections = new Connections({ data, local, deadlines, onProblem });
  const warm = new WarmSockets({
    clock: systemClock,
    open: (handler) => data.offer(tunnelId, key, handler),
    serve: (stream, first) => connections.acceptStream(stream, first),
  });
  return new TunnelSession({
    clock: systemClock,
    random: Math.random,
    openControl: (handler) =>
      new ControlConnection(
        controlUrl(relay, tunnelId),
        key,
        {
          ...handler,
          onOpen(remoteAddress) {
            data.prefer(remoteAddress);
            handler.onOpen(remoteAddress);
          },
        },
        systemClock,
      ),
    serve(id) {
      connections.accept(id);
      warm.missed();
    },
    onState(state) {
      if (state.name === 'online') {
        warm.start();
      } else {
        warm.stop();
        connections.closeIdle();
      }
      if (state.name === 'offline') connections.cut();
      onState(state);
    },
  });
}
