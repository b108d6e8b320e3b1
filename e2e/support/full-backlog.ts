/**
 * A worker that listens on a port and accepts no connections: once its queue is full, the system drops further attempts
 * to connect, as a cut line does. It ends when the flag is set.
 */
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, flag } = workerData as { readonly port: number; readonly flag: Int32Array };

const server = createServer();
server.listen({ port, host: '127.0.0.1', backlog: 1, reusePort: true }, () => {
  parentPort?.postMessage('listening');
  // Blocks this thread, so that nothing is accepted.
  Atomics.wait(flag, 0, 0);
  server.close();
});
