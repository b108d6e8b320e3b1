/**
 * The floor's client: `client.ts RELAY_PORT LOCAL_PORT`. For each id the relay announces, it dials a data connection
 * and the local port in parallel and joins them. It prints `online`.
 */
import { connect, type Socket } from 'node:net';
import { splice } from './splice.ts';

const [relayPort = 0, localPort = 0] = process.argv.slice(2).map(Number);

function dial(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  socket.on('error', () => socket.destroy());
  return socket;
}

function serve(id: string): void {
  const data = dial(relayPort);
  data.write(`${id}\n`);
  splice(data, dial(localPort));
}

const control = dial(relayPort);
control.write('control\n', () => console.log('online'));
let rest = '';
control.on('data', (chunk: Buffer) => {
  const lines = (rest + chunk.toString('latin1')).split('\n');
  rest = lines.pop() ?? '';
  for (const id of lines) serve(id);
});
control.once('close', () => process.exit(0));
