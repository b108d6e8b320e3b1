/**
 * `control-sockets.ts PORT`: control sockets without traffic, on which clients only answer pings; a tunnel id and a key
 * on each line of standard input. Prints `online COUNT` when all are open. Every second client opens a trunk, as
 * `culvert` does, which the relay closes after a while. If all did, 10,000 would need more file descriptors than many
 * systems allow a process. Prints `quiet` when all trunks are closed.
 */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';

/** How many sockets are being opened at a time at first, so that no backlog overflows. */
const OPENING_MAX = 100;

/** trunks that are open or opening */
let trunks = 0;

/** Opens a socket of the protocol, which answers pings and ends in turn. An error ends the program. */
async function open(path: string, id: string, key: string): Promise<WebSocket> {
  const url = `ws://127.0.0.1:${process.argv[2]}/ws/${path}?tunnel_id=${id}`;
  const headers = { Host: 'localhost', Authorization: `Bearer ${key}` };
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  await once(socket, 'open');
  return socket.on('error', fail);
}

async function openIdle(tunnel: string, opensTrunk: boolean): Promise<void> {
  const [id = '', key = ''] = tunnel.split(' ');
  (await open('control', id, key)).on('close', () => fail('a control socket was closed'));
  if (!opensTrunk) return;
  trunks += 1;
  (await open('trunk', id, key)).on('close', () => {
    trunks -= 1;
    if (trunks === 0) console.log('quiet');
  });
}

function fail(why: unknown): never {
  console.error(why);
  process.exit(1);
}

const tunnels = (await text(process.stdin)).trim().split('\n');
const wanted = tunnels.length;
const openers = Array.from({ length: OPENING_MAX }, async () => {
  for (let tunnel = tunnels.pop(); tunnel !== undefined; tunnel = tunnels.pop())
    await openIdle(tunnel, tunnels.length % 2 === 0);
});
await Promise.all(openers);
console.log(`online ${wanted}`);
