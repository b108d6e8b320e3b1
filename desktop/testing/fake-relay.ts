/** The WebSocket half of a relay, on the independent implementation of `ws`; the test is the other half. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { parseRelayAddress, type RelayAddress } from '../client/relay/relay-address.ts';
import { atClose, listen } from './servers.ts';

export interface FakeRelay {
  readonly address: RelayAddress;
  /** `Authorization` fields of the control sockets, in order */
  readonly keys: (string | undefined)[];
  /** The next control socket. */
  control(): Promise<WebSocket>;
  /** The next data socket of an announced connection, and the request target it was opened with. */
  data(): Promise<{ socket: WebSocket; target: string | undefined }>;
  /** The next trunk, and the request target it was opened with. */
  trunk(): Promise<{ socket: WebSocket; target: string | undefined }>;
  /** Answers upgrades with these bytes instead of a handshake, from now on; `undefined` to accept them again. */
  refuseWith(answer: string | undefined): void;
}

/** Starts a relay that accepts every control and data socket, and every trunk; `closeServers` ends it. */
export async function startFakeRelay(): Promise<FakeRelay> {
  const accepted = new EventEmitter();
  const keys: (string | undefined)[] = [];
  const sockets = new WebSocketServer({ noServer: true });
  let refusal: string | undefined;
  const server = createServer();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    if (refusal !== undefined) {
      socket.end(refusal);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      const [, kind = ''] = /^\/ws\/(\w+)\?/.exec(request.url ?? '') ?? [];
      if (kind === 'control') keys.push(request.headers.authorization);
      accepted.emit(kind, webSocket, request.url);
    });
  });
  const port = await listen(server);
  atClose(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  return {
    address: parseRelayAddress(`http://127.0.0.1:${port}`),
    keys,
    async control() {
      const [socket] = (await once(accepted, 'control')) as [WebSocket];
      return socket;
    },
    async data() {
      const [socket, target] = (await once(accepted, 'data')) as [WebSocket, string | undefined];
      return { socket, target };
    },
    async trunk() {
      const [socket, target] = (await once(accepted, 'trunk')) as [WebSocket, string | undefined];
      return { socket, target };
    },
    refuseWith(answer) {
      refusal = answer;
    },
  };
}
