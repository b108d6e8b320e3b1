/**
 * `visitors.ts LOAD`: visitors who do a fixed amount of work, described by a {@link Load} in JSON. They print `ready` when
 * they are connected and have warmed up, begin with SIGUSR2, and print a {@link Result}.
 */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { connectionsOf } from '../../support/processes.ts';
import { median } from '../stats.ts';

/** Requests on kept connections, or each on a new one; bodies of visitors; messages there and back. */
type Kind = 'requests' | 'new' | 'http2' | 'uploads' | 'messages';

export interface Load {
  readonly kind: Kind;
  readonly port: number;
  readonly host: string;
  readonly secure: boolean;
  /** at a time */
  readonly connections: number;
  /** requests or messages of all of them together */
  readonly count: number;
  /** the same before they are ready; each is served at least once */
  readonly warmUp: number;
  /** of each body or message */
  readonly bytes: number;
  /** process whose connections alone are used; the others are closed */
  readonly at?: number | undefined;
}

export interface Result {
  /** ms */
  readonly p50: number;
}

/** Streams at a time on each connection of HTTP/2. */
const STREAMS = 16;
const load = JSON.parse(process.argv[2] ?? '') as Load;
const { host, port, bytes } = load;
const path = load.kind === 'uploads' ? '/upload' : `/bytes?n=${bytes}`;
const body = Buffer.alloc(load.kind === 'uploads' ? bytes : 0);
const close = load.kind === 'new' ? 'Connection: close\r\n' : '';
const head = `${body.length > 0 ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: ${host}\r\n${close}Content-Length: ${body.length}\r\n\r\n`;

async function connect(): Promise<Socket> {
  for (;;) {
    const own = load.kind === 'http2' ? ['h2'] : ['http/1.1'];
    const socket = load.secure
      ? connectTls({
          port,
          host: '127.0.0.1',
          servername: host,
          ALPNProtocols: own,
          rejectUnauthorized: false,
        })
      : connectTcp({ port, host: '127.0.0.1' });
    await once(socket, load.secure ? 'secureConnect' : 'connect');
    const { localPort } = socket;
    if (load.at === undefined || connectionsOf(load.at).some(({ peerPort }) => peerPort === localPort))
      return socket;
    socket.destroy();
  }
}

/** Does one unit of work: a request and its response, or a message and its echo. */
type Work = () => Promise<void>;

/** Reads a whole response with a length, which the status 200 begins. */
function response(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let read = '';
    let left: number | undefined;
    const onData = (chunk: Buffer): void => {
      if (left === undefined) {
        read += chunk.toString('latin1');
        const end = read.indexOf('\r\n\r\n');
        if (end === -1) return;
        const length = /^content-length: *(\d+)/im.exec(read)?.[1];
        if (!read.startsWith('HTTP/1.1 200') || length === undefined) return reject(new Error(read));
        left = Number(length) - (read.length - end - 4);
      } else left -= chunk.length;
      if (left > 0) return;
      socket.off('data', onData);
      socket.off('close', onClose);
      resolve();
    };
    const onClose = (): void => reject(new Error(`closed after ${read}`));
    socket.on('data', onData);
    socket.on('close', onClose);
  });
}

async function ask(socket: Socket): Promise<void> {
  const answered = response(socket);
  socket.write(head);
  if (body.length > 0) socket.write(body);
  await answered;
}

/** @returns what each of those who work at a time does */
const WORKERS: Record<Kind, () => Promise<readonly Work[]>> = {
  requests: onSocket,
  uploads: onSocket,
  new: () =>
    Promise.resolve([
      async () => {
        const socket = await connect();
        await ask(socket);
        socket.destroy();
      },
    ]),
  async http2() {
    const socket = await connect();
    const session = connectHttp2(`https://${host}:${port}`, { createConnection: () => socket });
    const one = async (): Promise<void> => {
      const stream = session.request({ ':path': path });
      const ended = once(stream.resume(), 'end');
      const [fields] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
      if (fields[':status'] !== 200) throw new Error(`status ${fields[':status']}`);
      await ended;
    };
    return Array.from({ length: STREAMS }, () => one);
  },
  async messages() {
    const socket = await connect();
    const channel = new WebSocket(`ws://${host}:${port}/`, {
      createConnection: () => socket,
      perMessageDeflate: false,
    });
    await once(channel, 'open');
    return [
      async () => {
        channel.send(Buffer.alloc(bytes));
        await once(channel, 'message');
      },
    ];
  },
};

async function onSocket(): Promise<readonly Work[]> {
  const socket = await connect();
  return [() => ask(socket)];
}

const begin = once(process, 'SIGUSR2');
const visitors: Work[] = [];
for (let made = 0; made < load.connections; made += 1) visitors.push(...(await WORKERS[load.kind]()));
await Promise.all(visitors.map((work) => work()));
await doAll(load.warmUp);
console.log('ready');
// A signal alone does not keep a process waiting.
const waits = setInterval(() => {}, 1000);
await begin;
clearInterval(waits);
const result: Result = { p50: median(await doAll(load.count)) };
console.log(JSON.stringify(result));
process.exit(0);

/** @returns ms that each unit of work took */
async function doAll(count: number): Promise<number[]> {
  const times: number[] = [];
  let left = count;
  await Promise.all(
    visitors.map(async (work) => {
      while (left > 0) {
        left -= 1;
        const begun = performance.now();
        await work();
        times.push(performance.now() - begun);
      }
    }),
  );
  return times;
}
