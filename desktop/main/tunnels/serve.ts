/** The seam to the engine: one tunnel being served. */
import type { KnockMessage } from '../../../shared/control.ts';
import type { TunnelState } from '../../engine/control/tunnel-session.ts';
import type { Recorder } from '../../engine/data/recorder.ts';
import { localPort, type LocalTarget } from '../../engine/local/local-target.ts';
import type { Network } from '../../engine/network/network.ts';
import { createTunnelClient } from '../../engine/tunnel-client.ts';
import type { ConnectionProblem } from '../../engine/visitors/connections.ts';
import type { KeptForm } from '../../shared/ipc.ts';
import type { Connection } from '../connection.ts';

export interface ServeOptions {
  readonly connection: Connection;
  readonly tunnelId: string;
  readonly form: KeptForm;
  readonly recorder: Recorder;
  readonly onState: (state: TunnelState) => void;
  readonly onProblem: (problem: ConnectionProblem) => void;
  /** A visitor asks to be let in. */
  readonly onKnock: (knock: KnockMessage) => void;
}

export interface Served {
  /** Disconnects for good, without any state after `offline`. */
  stop(): void;
  /** This machine is going to sleep: the relay is told, and {@link Served.wake} connects again. */
  suspend(): void;
  /** The network is back, or this machine is awake: connects at once if it is not connected. */
  wake(): void;
}

/** Starts to serve a tunnel that exists at the relay. */
export type Serve = (options: ServeOptions) => Served;

/** What a tunnel leads to. A folder is served on this address and no other. */
export function localTarget({
  port,
  folder,
  local,
}: Pick<KeptForm, 'port' | 'folder' | 'local'>): LocalTarget {
  return folder === undefined ? { ...localPort(port), ...local } : { ...localPort(port), host: '127.0.0.1' };
}

/** @param network the way to the relay */
export function serveWithEngine(network: Network): Serve {
  return ({ connection, tunnelId, form, ...rest }) => {
    const session = createTunnelClient({
      relay: connection.relay,
      key: connection.key,
      tunnelId,
      local: localTarget(form),
      hostHeader: form.hostHeader,
      network,
      ...rest,
    });
    session.start();
    return session;
  };
}
