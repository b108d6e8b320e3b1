/** A shared folder as the local service of a tunnel. */
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { TunnelState } from '../../../client/control/tunnel-session.ts';
import type { Recorder } from '../../../client/data/stream-filter.ts';
import { localPort, type LocalTarget } from '../../../client/local/local-service.ts';
import type { Network } from '../../../client/network/network.ts';
import {
  FolderUnreadable,
  secretHost,
  type SharedFolder,
  shareFolder,
} from '../../../client/share/shared-folder.ts';
import { createTunnelClient } from '../../../client/tunnel-client.ts';
import type { ConnectionProblem } from '../../../client/visitors/connections.ts';
import type { KeptForm } from '../../ipc/ipc.ts';
import type { ApprovalRequestView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import type { Connection } from '../connection.ts';

/** Sent to the relay instead of a local port, which a folder has only while it is served. */
export const FOLDER_PORT = 80;

export class FolderService {
  /** current address; no port while the tunnel is not served */
  readonly target: LocalTarget & { port: number };
  readonly #path: string;
  /** stays, so that requests can be repeated after the tunnel was stopped and started again */
  readonly #host = secretHost();

  constructor(path: string) {
    this.#path = path;
    this.target = localTarget({ port: 0, folder: path, hostHeader: this.#host });
  }

  /** Serves tunnels together with the folder: its server runs exactly as long as the tunnel is served. */
  serving(serve: Serve): Serve {
    return (options) => {
      let isStopped = false;
      let folder: SharedFolder | undefined;
      let served: Served | undefined;
      const start = async (): Promise<void> => {
        const opened = await shareFolder(this.#path, { host: this.#host });
        if (isStopped) return opened.close();
        folder = opened;
        this.target.port = opened.port;
        const form = { ...options.form, port: opened.port, hostHeader: this.#host };
        served = serve({ ...options, form });
      };
      start().catch((error: unknown) => {
        if (isStopped) return;
        const why =
          error instanceof FolderUnreadable
            ? error.said
            : t('problem.folderNotServed', { why: String(error) });
        // The relay still has the tunnel, which Start again takes back.
        options.onState({ name: 'offline', reason: 'refused', why });
      });
      return {
        suspend: () => served?.suspend(),
        wake: () => served?.wake(),
        stop: () => {
          isStopped = true;
          served?.stop();
          this.target.port = 0;
          void folder?.close();
        },
      };
    };
  }
}

/* The seam to the engine: one tunnel being served. */

export interface ServeOptions {
  readonly connection: Connection;
  readonly tunnelId: string;
  /** its addresses */
  readonly urls: Tunnel['urls'];
  readonly form: KeptForm;
  readonly recorder: Recorder;
  readonly onState: (state: TunnelState) => void;
  readonly onProblem: (problem: ConnectionProblem) => void;
  /** A visitor asks for approval. */
  readonly onKnock: (knock: ApprovalRequestView) => void;
}

export interface Served {
  /** Disconnects for good, without any state after `offline`. */
  stop(): void;
  /** This machine is going to sleep: notifies the relay; {@link Served.wake} connects again. */
  suspend(): void;
  /** The network is back or this machine is awake: connects immediately if not connected. */
  wake(): void;
}

/** Starts to serve a tunnel that exists at the relay. */
export type Serve = (options: ServeOptions) => Served;

/** The target of a tunnel. A folder is served on this address only. */
export function localTarget({
  port,
  folder,
  local,
  upstream,
  hostHeader,
}: Pick<KeptForm, 'port' | 'folder' | 'local' | 'upstream' | 'hostHeader'>): LocalTarget {
  return folder === undefined
    ? { ...localPort(port), ...local, hostHeader, ...(upstream === undefined ? {} : { upstream }) }
    : { ...localPort(port), host: '127.0.0.1', hostHeader };
}

/** @param network the way to the relay */
export function serveWithEngine(network: Network): Serve {
  return ({ connection, tunnelId, urls, form, ...rest }) => {
    const session = createTunnelClient({
      relay: connection.relay,
      key: connection.key,
      tunnelId,
      local: localTarget(form),
      hosts: form.hosts && { tunnel: { urls }, ports: form.hosts },
      headers: form.headers,
      compress: form.compress,
      network,
      ...rest,
    });
    session.start();
    return session;
  };
}
