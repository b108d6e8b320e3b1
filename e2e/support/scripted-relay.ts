/** A relay for `culvert` whose responses the test scripts: one tunnel, and the control socket of its client. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Scope } from './scope.ts';

export class ScriptedRelay {
  readonly url: string;
  /** method, path and body of each call */
  readonly calls: string[] = [];
  readonly tunnel: Partial<Tunnel>;
  #control: WebSocket | undefined;

  private constructor(url: string, tunnel: Partial<Tunnel>) {
    this.url = url;
    this.tunnel = tunnel;
  }

  /** @param tunnel overrides for the tunnel object that it returns */
  static async start(scope: Scope, tunnel: Partial<Tunnel>): Promise<ScriptedRelay> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const relay = new ScriptedRelay(`http://127.0.0.1:${port}`, { ...TUNNEL, ...tunnel });
    const sockets = new WebSocketServer({ noServer: true });
    server.on('request', (request, response) => void relay.#respond(request, response));
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => {});
      if (request.url?.startsWith('/ws/control') !== true) {
        socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
        return;
      }
      sockets.handleUpgrade(request, socket, head, (control) => {
        control.on('error', () => {});
        relay.#control = control;
      });
    });
    scope.defer(() => {
      for (const control of sockets.clients) control.terminate();
      server.close();
      server.closeAllConnections();
    });
    return relay;
  }

  /** Sends a message on the control socket, which must be open. */
  send(message: object): void {
    if (this.#control === undefined) throw new Error('the client has no control socket');
    this.#control.send(JSON.stringify(message));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { method, url } = request;
    if (method !== 'GET') this.calls.push(`${method} ${url} ${body}`.trim());
    const answer = url === '/v1/tunnels' && method === 'GET' ? { tunnels: [this.tunnel] } : this.tunnel;
    response.writeHead(url === '/v1/tunnels' && method === 'POST' ? 201 : 200);
    response.end(JSON.stringify(answer));
  }
}

const TUNNEL = {
  id: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  slug: 'scripted',
  client_id: '7b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  local_port: 1,
  name: '',
  ttl: '1h0m0s',
  mode: 'relay',
  created_at: '2026-07-10T12:00:00.000Z',
  expires_at: '2126-07-10T13:00:00.000Z',
  idle_ttl: false,
  bytes_in: 0,
  bytes_out: 0,
  requests: 0,
  public_url: 'http://scripted.localhost',
  urls: { subdomain: 'http://scripted.localhost' },
} as const;
