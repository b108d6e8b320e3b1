/** Free ports of the loopback interface. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a port accepts connections.
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
