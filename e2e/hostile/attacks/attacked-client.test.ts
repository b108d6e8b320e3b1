/**
 * Attempts to crash or exhaust `culvert`: visitors of a shared folder who leave, addresses that are slow to parse, and
 * a relay that lies.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { hostOf } from '../../support/manual-client.ts';
import { newApiKey, Relay, spawnCulvert, temporaryDirectory } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { formatRequest, RawConnection, visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { testAttack } from './attack.ts';
import { Faults } from './measure.ts';

type Figure = 'resets' | 'addresses' | 'messages' | 'ended' | 'descriptors' | 'unserved';

const COUNTS = {
  whole: { resets: 20_000, addresses: 2000, messages: 20_000 },
  short: { resets: 1000, addresses: 100, messages: 1000 },
};
const AT_ONCE = 40;
/** Turns of this process's event loop after which a visitor leaves. They cover each step of a response. */
const TURNS_MAX = 40;
/** Below the limit of the relay. */
const ADDRESS_CHARS = 7000;
/** ms until the number of descriptors is back to normal. */
const SETTLE_MS = 20_000;
/** ms for an answer on a busy machine. */
const ANSWER_MS = 20_000;

testAttack<Figure>({
  name: 'attacked-client',
  title:
    'Visitors of a shared folder reset their connections at every possible moment or visit addresses that are slow to display, and a hostile relay sends the client invalid messages',
  thresholds: {
    resets: { meaning: 'visitors who reset their connections', atLeast: COUNTS.short.resets },
    addresses: { meaning: 'long addresses displayed', atLeast: COUNTS.short.addresses },
    messages: { meaning: 'messages from the hostile relay', atLeast: COUNTS.short.messages },
    ended: { meaning: 'programs that crashed', atMost: 0 },
    descriptors: { meaning: 'file descriptors left open', atMost: 0 },
    unserved: { meaning: 'later visitors who were not served', atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const counts = short ? COUNTS.short : COUNTS.whole;
    const faults = new Faults();
    const random = new Random(seed);
    const relay = await Relay.start(scope, { CULVERT_ADDRESS_CONNECTIONS: '100000' });
    say(`${counts.resets} visitors reset`);
    const descriptors = await resets(scope, relay, counts.resets, faults);
    say(`${counts.addresses} addresses`);
    await addresses(scope, relay, counts.addresses, random, faults);
    say(`${counts.messages} messages`);
    await messages(scope, counts.messages, random, faults);
    return {
      figures: { ...counts, descriptors, ...faults.counts('ended', 'unserved') },
      faults: faults.first,
    };
  },
});

/** @returns how many descriptors stay open */
async function resets(scope: Scope, relay: Relay, count: number, faults: Faults): Promise<number> {
  const { child, tunnel } = await share(scope, relay);
  const host = hostOf(tunnel, relay);
  const descriptors = (): number => (child.hasExited ? 0 : readdirSync(`/proc/${child.pid}/fd`).length);
  const wave = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const turns = index % TURNS_MAX;
        const target = index % 2 === 0 ? '/small.txt' : '/large.bin';
        const visitor = await RawConnection.open(scope, relay.port);
        await visitor.write(formatRequest({ host, target }));
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        visitor.reset();
      }),
    );
  };
  await wave();
  // Its local connection is kept for the next request.
  await visit(relay.port, { host, target: '/small.txt' });
  const base = await settled(descriptors);
  for (let visits = AT_ONCE; visits < count && !child.hasExited; visits += AT_ONCE) await wave();
  if (child.hasExited) faults.add('ended', child.stderr);
  else if ((await visit(relay.port, { host, target: '/small.txt' })).text !== 'small')
    faults.add('unserved', 'a visitor after those who have reset');
  // Idle local connections stay open for several seconds.
  const until = performance.now() + SETTLE_MS;
  while (descriptors() > base && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 200));
  return Math.max(0, descriptors() - base);
}

/** The number at which it stays for a while. */
async function settled(read: () => number): Promise<number> {
  const until = performance.now() + SETTLE_MS;
  let last = read();
  for (let same = 0; same < 5 && performance.now() < until;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

/** Each address is redacted when it is listed, which a terminal and the app do all the time. */
async function addresses(
  scope: Scope,
  relay: Relay,
  count: number,
  random: Random,
  faults: Faults,
): Promise<void> {
  const place = temporaryDirectory(scope);
  const runtime = { XDG_RUNTIME_DIR: place, TMPDIR: place };
  const { child, tunnel } = await share(scope, relay, runtime);
  const host = hostOf(tunnel, relay);
  for (let sent = 0; sent < count && !child.hasExited; sent += 1) {
    const piece = random.pick(['?', '&a', ';', '?a=', '//', '//@', 'eyJ', 'eyJ.', '=', 'Bearer:']);
    const target = `/small.txt?${piece.repeat(ADDRESS_CHARS / piece.length)}`;
    const { status } = await visit(relay.port, { host, target });
    if (status !== 200) faults.add('unserved', `${status} for an address of ${piece}`);
    if (sent % 50 !== 0) continue;
    const list = spawnCulvert(scope, ['inspect', '--json'], runtime);
    const { code } = await list.exit(ANSWER_MS);
    if (code !== 0) faults.add('unserved', `the list after ${sent} addresses of ${piece}: ${list.stderr}`);
  }
  if (child.hasExited) faults.add('ended', child.stderr);
}

async function share(scope: Scope, relay: Relay, more: Readonly<Record<string, string>> = {}) {
  const folder = temporaryDirectory(scope);
  writeFileSync(join(folder, 'small.txt'), 'small');
  writeFileSync(join(folder, 'large.bin'), Buffer.alloc(4 * 1024 * 1024));
  const child = spawnCulvert(scope, ['share', folder, '--json'], {
    CULVERT_RELAY: relay.url,
    CULVERT_API_KEY: relay.bootstrapKey,
    ...more,
  });
  const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
  return { child, tunnel };
}

/** A relay that sends arbitrary messages, and occasionally announces a visitor who must be served. */
async function messages(scope: Scope, count: number, random: Random, faults: Faults): Promise<void> {
  const relay = await hostileRelay(scope);
  const child = spawnCulvert(scope, ['http', '9', '--json'], {
    CULVERT_RELAY: relay.url,
    CULVERT_API_KEY: newApiKey(),
  });
  let control = await relay.control();
  for (let sent = 0; sent < count && !child.hasExited; sent += 1) {
    if (control.readyState !== control.OPEN) control = await relay.control();
    control.send(JSON.stringify(oddMessage(random)));
    if (sent % 500 !== 0) continue;
    const id = randomUUID();
    const arrived = relay.visitor(id);
    control.send(JSON.stringify({ type: 'connection', id }));
    if (!(await arrived) && !child.hasExited) faults.add('unserved', `a visitor after ${sent} messages`);
  }
  if (child.hasExited) faults.add('ended', child.stderr);
}

function oddMessage(random: Random): unknown {
  const odd = random.pick<unknown>([
    '\ud800',
    '',
    '../x',
    '?a&b',
    'x'.repeat(700),
    '\r\n',
    null,
    7,
    1e300,
    [],
    {},
    true,
  ]);
  const type = random.pick<unknown>(['connection', 'knock', 'drain!', '__proto__', odd]);
  const fields = {
    id: odd,
    address: random.pick<unknown>(['192.0.2.7', odd]),
    agent: odd,
    at: random.pick<unknown>(['9999-99-99', odd]),
  };
  return random.pick<unknown>([
    odd,
    [odd],
    { type, ...fields },
    { type, id: odd },
    { ...fields, type: [type] },
  ]);
}

interface HostileRelay {
  readonly url: string;
  /** the next control socket that is opened, or the open one */
  control(): Promise<WebSocket>;
  /** @returns whether the client has accepted that visitor in time */
  visitor(id: string): Promise<boolean>;
}

async function hostileRelay(scope: Scope): Promise<HostileRelay> {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const url = `http://shop.localhost:${(server.address() as AddressInfo).port}`;
    const tunnel = {
      id: randomUUID(),
      slug: 'shop',
      client_id: 'one',
      local_port: 9,
      name: '',
      ttl: '1h0m0s',
      mode: 'relay',
      created_at: at,
      expires_at: at,
      idle_ttl: false,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
      public_url: url,
      urls: { subdomain: url },
    };
    request.resume();
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(tunnel));
  });
  let open: WebSocket | undefined;
  const waiting: ((socket: WebSocket) => void)[] = [];
  const visitors = new Map<string, () => void>();
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    socket.on('error', () => socket.destroy());
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    if (pathname === '/ws/trunk')
      return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      accepted.on('error', () => accepted.terminate());
      if (pathname === '/ws/data') {
        visitors.get(searchParams.get('id') ?? '')?.();
        accepted.close();
        return;
      }
      open = accepted;
      for (const settle of waiting.splice(0)) settle(accepted);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  scope.defer(() => {
    for (const client of sockets.clients) client.terminate();
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    control: () =>
      open?.readyState === open?.OPEN && open !== undefined
        ? Promise.resolve(open)
        : new Promise((resolve) => waiting.push(resolve)),
    visitor: (id) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => settle(false), ANSWER_MS);
        const settle = (hasCome: boolean): void => {
          clearTimeout(timer);
          visitors.delete(id);
          resolve(hasCome);
        };
        visitors.set(id, () => settle(true));
      }),
  };
}
