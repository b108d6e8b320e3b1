/**
 * The floor: Culvert's message flow without HTTP, WebSockets, accounts or limits. Its cost is the minimum for this flow
 * on this machine with this Node. Do not use it as a tunnel.
 *
 * - `floor.ts relay`: for each visitor it announces an id on the one control connection, waits for the data connection that
 *   names the id, and joins the two. Prints `listening VISITORS CLIENTS`, the two ports.
 * - `floor.ts client RELAY_PORT LOCAL_PORT`: for each id the relay announces, it dials a data connection and the local port
 *   in parallel and joins them. Prints `online`.
 */
import { randomUUID } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const OPTIONS = { noDelay: true, allowHalfOpen: true };
const BACKLOG = 4096;

async function relay(): Promise<void> {
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
  console.log(`listening ${await listen(visitors)} ${await listen(clients)}`);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG }, resolve),
  );
  return (server.address() as AddressInfo).port;
}

function client(relayPort: number, localPort: number): void {
  const control = dial(relayPort);
  control.write('control\n', () => console.log('online'));
  let rest = '';
  control.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const id of lines) {
      const data = dial(relayPort);
      data.write(`${id}\n`);
      splice(data, dial(localPort));
    }
  });
  control.once('close', () => process.exit(0));
}

function dial(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', ...OPTIONS });
  socket.on('error', () => socket.destroy());
  return socket;
}

/** Pipes two sockets to each other. The end of one ends the other, and an error on one destroys the other. */
function splice(first: Socket, second: Socket): void {
  pass(first, second);
  pass(second, first);
}

function pass(from: Socket, to: Socket): void {
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => to.end());
  from.on('close', () => to.destroy());
}

/** A socket's first line; for lines shorter than a packet that nothing follows. */
function readLine(socket: Socket, onLine: (line: string) => void): void {
  socket.once('data', (chunk: Buffer) => {
    const end = chunk.indexOf('\n');
    // Both ends belong to this benchmark, on loopback: a line always arrives whole.
    if (end < 0) socket.destroy();
    else onLine(chunk.toString('latin1', 0, end));
  });
}

const [role, relayPort, localPort] = process.argv.slice(2);
if (role === 'relay') await relay();
else client(Number(relayPort), Number(localPort));
