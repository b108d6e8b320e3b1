import { connect } from 'node:net';
import type { WebSocketClient } from './websocket.ts';

/**
 * Pipes a data WebSocket and a TCP connection to the local port to each other, with backpressure; when either side
 * closes, the other is closed too (docs/protocol.md section 6.3).
 */
export function bridge(data: WebSocketClient, localPort: number): void {
  const local = connect({ port: localPort, host: '127.0.0.1', noDelay: true });
  let ended = false;
  local.on('data', (chunk: Buffer) => {
    if (!data.send(chunk)) local.pause();
  });
  local.once('end', () => {
    ended = true;
    data.close(1000);
  });
  local.on('error', () => {
    // A failure is not the end of a stream: the connection is cut, so that nobody takes it for one.
    if (!ended) data.drop();
  });
  local.on('drain', () => data.resume());
  data.attach({
    data: (bytes) => {
      if (local.writable && !local.write(bytes)) data.pause();
    },
    drain: () => local.resume(),
  });
  void data.closed.then(() => local.destroySoon());
}
