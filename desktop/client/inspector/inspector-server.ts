import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { VERSION } from '../../../shared/version.ts';
import { toMessage } from '../messages.ts';
import {
  describeRefusal,
  type InspectedHost,
  type InspectedTunnel,
  LOG_METHODS,
} from '../methods/log-methods.ts';
import { answerCall, CallRefused, type ErrorWords } from '../methods/method.ts';
import { peerOver } from '../methods/socket-peer.ts';
import {
  findTunnels,
  INSPECT_ANSWER_MAX_BYTES,
  INSPECT_BACKLOG_MAX_BYTES,
  INSPECT_REQUEST_TIMEOUT_MS,
} from './inspector.ts';
import { type RuntimeFolder, runtimeFolder } from './runtime-folder.ts';

/** Maximum number of `culvert inspect` connections to one client process. */
export const INSPECTORS_MAX = 16;
/**
 * Maximum number of calls of one `culvert inspect` that wait for their answers. The command makes one at a time.
 */
export const INSPECT_CALLS_MAX = 8;
/**
 * Largest message of `culvert inspect`: an imported request and its response, with bodies of 256 KiB and their
 * headers.
 */
export const INSPECT_REQUEST_MAX_BYTES = 2 * 1024 * 1024;

const WORDS: ErrorWords = {
  describe: describeRefusal,
  wrong: 'This culvert process cannot do what it was asked to.',
  // It serves visitors, whatever another program asks.
  reportBug: () => {},
};

/** Lets `culvert inspect` inspect the tunnels of this process, over a socket that only this user can open. */
export class InspectorServer {
  readonly #folder: RuntimeFolder;
  readonly #tunnels = new Set<InspectedTunnel>();
  readonly #server: Server;
  readonly #peers = new WebSocketServer({
    noServer: true,
    maxPayload: INSPECT_REQUEST_MAX_BYTES,
    perMessageDeflate: false,
  });
  readonly #path: string;
  readonly #onExit = (): void => this.stop();

  constructor(folder: RuntimeFolder, pid = process.pid) {
    this.#folder = folder;
    this.#path = folder.pathOf(pid);
    this.#server = createServer((_request, response) => response.writeHead(426).end());
    this.#server.maxConnections = INSPECTORS_MAX;
    this.#server.on('connection', (socket: Socket) => {
      socket.on('timeout', () => socket.destroy());
      socket.setTimeout(INSPECT_REQUEST_TIMEOUT_MS);
    });
    this.#server.on('upgrade', (request, socket: Socket, head) => {
      socket.on('error', () => socket.destroy());
      this.#peers.handleUpgrade(request, socket, head, (peer) => this.#accept(peer, socket));
    });
    // Inspecting a process must not keep it alive.
    this.#server.unref();
  }

  /**
   * Listens, and removes sockets left behind by processes that have ended.
   *
   * @throws Error if it cannot listen
   */
  async start(): Promise<void> {
    // Left by an earlier process with the same id.
    if (this.#folder.hasFiles) rmSync(this.#path, { force: true });
    this.#server.listen(this.#path);
    await once(this.#server, 'listening');
    // A failed accept affects only one inspector.
    this.#server.on('error', () => {});
    // A process that exits leaves no socket behind.
    process.once('exit', this.#onExit);
    if (this.#folder.hasFiles) chmodSync(this.#path, 0o600);
    // A process that was stopped takes its time to answer, which nobody has to wait for.
    findTunnels(this.#folder).catch(() => {});
  }

  /** Does nothing if it is shown already. */
  add(tunnel: InspectedTunnel): void {
    this.#tunnels.add(tunnel);
  }

  remove(tunnel: InspectedTunnel): void {
    this.#tunnels.delete(tunnel);
  }

  stop(): void {
    process.off('exit', this.#onExit);
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.#peers.clients) socket.terminate();
    if (this.#folder.hasFiles) rmSync(this.#path, { force: true });
  }

  /** @param connection of the WebSocket. It is cut while it is silent, unless an answer is being made. */
  #accept(socket: WebSocket, connection: Socket): void {
    const gone = new AbortController();
    const host: InspectedHost = {
      mayReveal: true,
      tunnels: () =>
        [...this.#tunnels].map(({ tunnel: { id, slug, public_url: publicUrl } }) => ({
          id,
          slug,
          publicUrl,
        })),
      find: (key) => this.#find(key),
      tell(summary) {
        // Cut off a peer that does not read, instead of buffering without limit.
        if (socket.bufferedAmount > INSPECT_BACKLOG_MAX_BYTES) socket.terminate();
        else peer.push('request', summary);
      },
      ended: gone.signal,
    };
    let calls = 0;
    const peer = peerOver(
      socket,
      {
        async answer(name, payload) {
          calls += 1;
          connection.setTimeout(0);
          const answer = await answerCall(LOG_METHODS, name, payload, host, WORDS);
          calls -= 1;
          if (calls === 0) connection.setTimeout(INSPECT_REQUEST_TIMEOUT_MS);
          return answer;
        },
        pushed: () => {},
      },
      {
        maxBytes: INSPECT_REQUEST_MAX_BYTES,
        maxCalls: INSPECT_CALLS_MAX,
        backlogBytes: INSPECT_ANSWER_MAX_BYTES,
      },
    );
    connection.setTimeout(INSPECT_REQUEST_TIMEOUT_MS);
    socket.on('close', () => gone.abort());
    peer.greet(VERSION);
  }

  /** @throws CallRefused */
  #find(key: string): InspectedTunnel {
    for (const inspected of this.#tunnels) if (inspected.tunnel.id === key) return inspected;
    throw new CallRefused('unknown-tunnel', toMessage('inspect.tunnelEnded'));
  }
}

/**
 * Lets other programs of this user inspect this process. If that does not work, tunnels are served all the same.
 *
 * @param onFailure called with the reason
 */
export async function startInspector(
  env: NodeJS.ProcessEnv,
  onFailure: (error: unknown) => void,
): Promise<InspectorServer | undefined> {
  try {
    const server = new InspectorServer(runtimeFolder(env));
    await server.start();
    return server;
  } catch (error) {
    onFailure(error);
    return undefined;
  }
}
