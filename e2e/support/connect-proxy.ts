/** A corporate proxy: CONNECT and nothing else (RFC 9110 section 9.3.6). */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Scope } from './scope.ts';

export class ConnectProxy {
  readonly port: number;
  /** `host:port` of each request, in order */
  readonly asked: string[];

  private constructor(port: number, asked: string[]) {
    this.port = port;
    this.asked = asked;
  }

  /**
   * Starts a proxy that resolves every name to this machine.
   *
   * @param credentials `user:password` that it requires
   * @param isHanging whether it accepts requests and never responds
   */
  static async start(
    scope: Scope,
    { credentials, isHanging = false }: { credentials?: string; isHanging?: boolean } = {},
  ): Promise<ConnectProxy> {
    const asked: string[] = [];
    const sockets = new Set<Socket>();
    const server = createServer();
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    server.on('connect', (request, client: Socket) => {
      asked.push(request.url ?? '');
      client.on('error', () => {});
      sockets.add(client);
      if (isHanging) return;
      if (request.headers['proxy-authorization'] !== expected)
        return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
      const target = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1');
      target.on('error', () => client.destroy());
      target.once('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(target).pipe(client);
      });
      client.once('close', () => target.destroy());
      target.once('close', () => client.destroy());
    });
    scope.defer(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ConnectProxy((server.address() as { port: number }).port, asked);
  }

  /** Its address, in the form of `HTTPS_PROXY`. */
  url(credentials?: string): string {
    return `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${this.port}`;
  }
}
