import type { Socket } from 'node:net';
import { within } from '../deadline.ts';
import { SocketReader } from '../raw-http.ts';
import type { Scope } from '../scope.ts';
import { type Service, startRawService } from './listen.ts';

/** A connection that has reached a scripted service. */
export interface LocalConnection {
  readonly socket: Socket;
  readonly reader: SocketReader;
  /** Reads a request head, to the empty line. */
  head(): Promise<string>;
  /** Sends bytes unchanged. */
  write(bytes: string): void;
}

/** A local service whose every byte the test sends, one connection after the other. */
export interface ScriptedService extends Service {
  /** The next connection; waits for it up to 15 s. */
  next(): Promise<LocalConnection>;
}

export async function startScriptedService(scope: Scope): Promise<ScriptedService> {
  const arrived: LocalConnection[] = [];
  let wake = Promise.withResolvers<void>();
  const service = await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    arrived.push({
      socket,
      reader,
      head: async () => (await reader.through('\r\n\r\n')).toString('latin1'),
      write: (bytes) => void socket.write(Buffer.from(bytes, 'latin1')),
    });
    wake.resolve();
  });
  async function next(): Promise<LocalConnection> {
    for (;;) {
      const connection = arrived.shift();
      if (connection !== undefined) return connection;
      wake = Promise.withResolvers<void>();
      await within(20_000, 'connection to the local service', wake.promise);
    }
  }
  return Object.assign(service, { next });
}

/**
 * Starts a service that responds with the same bytes to every request.
 *
 * @param options `keepsOpen`: it responds to every request of a connection; otherwise it ends each connection after the
 * first
 */
export async function startFixedResponse(
  scope: Scope,
  response: string,
  options: { readonly keepsOpen?: boolean } = {},
): Promise<Service> {
  return await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    async function serve(): Promise<void> {
      do {
        await reader.through('\r\n\r\n');
        socket.write(Buffer.from(response, 'latin1'));
      } while (options.keepsOpen === true);
      socket.end();
    }
    serve().catch(() => socket.destroy());
  });
}
