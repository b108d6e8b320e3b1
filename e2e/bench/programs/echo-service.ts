/** A local service for WebSockets that sends back what it receives. It prints `listening PORT`. */
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('error', () => socket.terminate());
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.on('listening', () => {
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});
