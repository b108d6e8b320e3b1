/** Free ports of the loopback interface. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Waits until a port takes connections.
 *
 * @throws Error after 10 s
 */
export async function accepting(port: number): Promise<void> {
  const end = performance.now() + 10_000;
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(50);
    } finally {
      socket.destroy();
    }
  }
}
