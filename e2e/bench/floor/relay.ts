/**
 * The floor's relay: Culvert's message flow without HTTP, WebSockets, accounts or limits. For each visitor it announces
 * an id on the one control connection, waits for the data connection that names the id, and joins the two. Its cost is
 * the minimum for this flow on this machine with this Node. Do not use it as a tunnel.
 *
 * Prints `listening VISITORS CLIENTS`, the two ports.
 */
import { randomUUID } from 'node:crypto';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { readLine, splice } from './splice.ts';

const OPTIONS = { noDelay: true, allowHalfOpen: true };
const BACKLOG = 4096;

let control: Socket | undefined;
const waiting = new Map<string, { readonly visitor: Socket; readonly first: Buffer }>();

const visitors = createServer(OPTIONS, (visitor) => {
  visitor.on('error', () => visitor.destroy());
  visitor.once('data', (first: Buffer) => {
    visitor.pause();
    const id = randomUUID();
    waiting.set(id, { visitor, first });
    visitor.once('close', () => waiting.delete(id));
    if (control === undefined) visitor.destroy();
    else control.write(`${id}\n`);
  });
});

const clients = createServer(OPTIONS, (socket) => {
  socket.on('error', () => socket.destroy());
  readLine(socket, (line) => {
    if (line === 'control') {
      control = socket;
      return;
    }
    const entry = waiting.get(line);
    waiting.delete(line);
    if (entry === undefined) {
      socket.destroy();
      return;
    }
    splice(entry.visitor, socket);
    socket.write(entry.first);
    entry.visitor.resume();
  });
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG }, resolve),
  );
  return (server.address() as AddressInfo).port;
}

console.log(`listening ${await listen(visitors)} ${await listen(clients)}`);
