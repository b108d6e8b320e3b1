import { setTimeout as delay } from 'node:timers/promises';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Culvert, newApiKey, type Relay } from '../../support/programs.ts';
import {
  type Field,
  formatRequest,
  type RawConnection,
  type Request,
  type Response,
  SocketReader,
} from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { torture } from '../torture.ts';
import { Faults, inParallel } from '../tools/measure.ts';
import { type Front, startFronts } from '../tools/fronts.ts';
import { type Honest, HonestVisitor, startHonest } from '../tools/tenants.ts';
import { crowdedFields } from '../tools/forked.ts';

type Figure = 'tried' | 'succeeded' | 'served' | 'unserved' | 'strayed';

torture<Figure>({
  name: 'audit',
  onlyWhole: true,
  title:
    'Attacks that an audit found are repeated directly and through nginx, HAProxy and Caddy, while other visitors use a tunnel and the API',
  thresholds: {
    tried: {
      meaning: 'attacks sent, counting each path (direct or through a proxy) separately',
      atLeast: 44,
    },
    succeeded: { meaning: 'attacks that succeeded', atMost: 0 },
    served: { meaning: "other visitors' requests answered correctly", atLeast: 100 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
    strayed: { meaning: "other visitors' requests that got another request's response", atMost: 0 },
  },

  async run({ scope, say }) {
    const { relay, fronts } = await startFronts(scope, { CULVERT_MAX_CONNECTIONS: String(SEATS) });
    const service = await startEvilService(scope);
    const by = { url: `http://127.0.0.1:${relay.port}` };
    const account = await createAccount(relay, { subdomain: 'attacker' });
    const { tunnel, child } = await Culvert.start(scope, by, account.key, service);
    const free = await createAccount(relay, { plan: 'free' });
    const { tunnel: small } = await Culvert.start(scope, by, free.key, service);
    const honest = await startHonest(scope, relay);
    const faults = new Faults();
    let [tried, served] = [0, 0];
    for (const front of fronts) {
      for (const { finding, name, attack } of ATTACKS) {
        say(`${front.name}: ${name}`);
        tried += 1;
        const inner = new Scope();
        const visitor = new HonestVisitor(inner, honest, front, faults);
        try {
          const visits = new Scope();
          const asking = visitor.keepAsking(visits, `${front.name}, ${name}`);
          const world = {
            front,
            account,
            host: `${tunnel.slug}.${SHIPPED.tunnelDomain}`,
            slug: tunnel.slug,
            small: `${small.slug}.${SHIPPED.tunnelDomain}`,
            honest,
            relay,
            client: child.pid,
            tunnelId: tunnel.id,
          };
          const achieved = await attack(inner, world);
          if (achieved !== undefined)
            faults.add('succeeded', `${finding}, ${front.name}, ${name}: ${achieved}`);
          await visits.end();
          await asking;
        } finally {
          served += visitor.served;
          await inner.end();
        }
      }
    }
    return {
      figures: { tried, served, ...faults.counts('succeeded', 'unserved', 'strayed') },
      done: `${ATTACKS.length} different attacks`,
      faults: faults.first,
    };
  },
});

/* The attacks found by the audit. Each returns what it has achieved, or nothing if it has failed. */

/** The relay's limit of connections. */
export const SEATS = 300;

/** The resources of an attacker, and its targets. */
export interface World {
  readonly front: Front;
  readonly account: TestAccount;
  /** host of the attacker's tunnel */
  readonly host: string;
  readonly slug: string;
  readonly tunnelId: string;
  /** id of the process that serves its tunnel */
  readonly client: number;
  /** host of a harmless account's tunnel on the free plan */
  readonly small: string;
  readonly honest: Honest;
  readonly relay: Relay;
}

export interface Attack {
  /** number of the finding */
  readonly finding: number;
  readonly name: string;
  /** @returns what it has achieved, if anything */
  readonly attack: (scope: Scope, world: World) => Promise<string | undefined>;
}

/** The address of the attacker's visitors. */
const FROM = '127.0.0.9';
const FLOOD_MS = 2000;
/** The number of connections that the audit used for its floods. */
const CONNECTIONS = 32;
/** An unused address that visitors claim as theirs. */
const CLAIMED = '6.6.6.6';
/**
 * ms within which the relay must have noticed that a client froze, and have responded to its waiting visitors: up to 30
 * s to the next ping, 65 s without a pong, 10 s for the visitors. The rest is for a busy machine.
 */
const FROZEN_MS = 150_000;

export const ATTACKS: readonly Attack[] = [
  { finding: 1, name: 'an interim answer that looks final', attack: interim },
  { finding: 2, name: 'crowded heads both ways', attack: crowded },
  { finding: 3, name: 'a service worker for all path tunnels', attack: worker },
  { finding: 4, name: 'all seats for one address', attack: seats },
  { finding: 4, name: 'all connections of a free tunnel', attack: idleVisitors },
  { finding: 5, name: 'extends without end', attack: extend },
  { finding: 6, name: 'fields that steer the proxy', attack: steer },
  { finding: 7, name: 'the name of an account', attack: takeName },
  { finding: 7, name: 'cookies for all tunnels', attack: cookieDomain },
  { finding: 9, name: 'cookies and fields beyond the prefix', attack: beyondPrefix },
  { finding: 10, name: "somebody else's address", attack: claimAddress },
  { finding: 12, name: 'keys guessed without end', attack: guessKeys },
  { finding: 13, name: 'a client that froze', attack: freeze },
  { finding: 14, name: 'unusual forms of requests', attack: forms },
];

/** Sends a request over a new connection, and closes it. */
async function ask(front: Front, request: Request | Buffer, from = FROM): Promise<Response> {
  const scope = new Scope();
  try {
    const connection = await front.open(scope, { from });
    const isBytes = Buffer.isBuffer(request);
    await connection.write(isBytes ? request : formatRequest(request));
    return await connection.response(isBytes ? undefined : request.method);
  } finally {
    await scope.end();
  }
}

/** Sends the same request over many connections, each time as soon as there is a response. */
async function flood(scope: Scope, front: Front, bytes: Buffer): Promise<void> {
  const end = performance.now() + FLOOD_MS;
  await inParallel(CONNECTIONS, Array.from({ length: CONNECTIONS }), async () => {
    let connection: RawConnection | undefined;
    while (performance.now() < end) {
      connection ??= await front.open(scope, { from: FROM });
      try {
        await connection.write(bytes);
        const { head } = await connection.response();
        if (head.field('connection')?.toLowerCase() === 'close') connection = undefined;
      } catch {
        // Refused or cut: the attacker reconnects.
        connection = undefined;
      }
    }
  });
}

/** Its effect on others is measured by them. */
async function interim(_scope: Scope, { front, host }: World): Promise<undefined> {
  await inParallel(8, Array.from({ length: 24 }), async () => {
    await ask(front, { host, target: '/interim' }).catch(() => undefined);
  });
}

async function crowded(scope: Scope, { front, host }: World): Promise<undefined> {
  const head = `GET /crowded HTTP/1.1\r\nHost: ${host}\r\n${crowdedFields(7000, 90)}\r\n`;
  await flood(scope, front, Buffer.from(head, 'latin1'));
}

async function worker(_scope: Scope, { front, slug }: World): Promise<string | undefined> {
  const script = { host: SHIPPED.relayHost, headers: [['Service-Worker', 'script'] as Field] };
  for (const target of [`/t/${slug}`, `/t/${slug}?sw.js`, `/t//${slug}`]) {
    const { status, text } = await ask(front, { ...script, target });
    if (status === 200 || text.includes(EVIL)) return `${target} was answered ${status}`;
  }
  return undefined;
}

async function seats(scope: Scope, { front, honest }: World): Promise<string | undefined> {
  const missing = formatRequest({ host: SHIPPED.relayHost, target: '/t/nobody-has-this/' });
  await sit(scope, front, missing, SEATS);
  return await newcomers(front, honest.host, 'are kept out');
}

async function idleVisitors(scope: Scope, { front, small }: World): Promise<string | undefined> {
  await sit(scope, front, formatRequest({ host: small }), 201);
  return await newcomers(front, small, 'are kept out of the free tunnel');
}

/** Opens connections, waits for one response on each, and keeps them open. */
async function sit(scope: Scope, front: Front, request: Buffer, count: number): Promise<void> {
  await inParallel(16, Array.from({ length: count }), async () => {
    // A relay may refuse the attacker as often as it likes.
    try {
      const connection = await front.open(scope, { from: FROM });
      await connection.write(request);
      await connection.response();
    } catch {}
  });
}

/** Twenty visitors from other addresses, one after the other. */
async function newcomers(front: Front, host: string, what: string): Promise<string | undefined> {
  let refused = 0;
  for (let one = 0; one < 20; one += 1) {
    const { status } = await ask(front, { host }, `127.0.1.${one + 1}`).catch(() => ({ status: 0 }));
    if (status !== 200) refused += 1;
  }
  return refused === 0 ? undefined : `${refused} of 20 ${what}`;
}

async function extend(scope: Scope, { front, account, tunnelId }: World): Promise<undefined> {
  const headers: Field[] = [
    ['Authorization', `Bearer ${account.key}`],
    ['Content-Type', 'application/json'],
  ];
  const target = `/v1/tunnels/${tunnelId}/extend`;
  await flood(
    scope,
    front,
    formatRequest({ method: 'PUT', host: SHIPPED.relayHost, target, headers, body: '{"ttl":"1s"}' }),
  );
}

async function steer(_scope: Scope, { front, host }: World): Promise<string | undefined> {
  const { status, text, head } = await ask(front, { host, target: '/steer' });
  if (status !== 200 || text !== EVIL) return `answered ${status} ${text.slice(0, 100)}`;
  const left = head.fields.filter(([name]) => /accel|sendfile|reproxy/i.test(name));
  return left.length === 0 ? undefined : `${left.join()} passed`;
}

async function takeName(_scope: Scope, { front, relay, account }: World): Promise<string | undefined> {
  // Another account's subdomain, and the other way round.
  const subdomain = `owner-${Math.random().toString(36).slice(2)}`;
  await createAccount(relay, { subdomain });
  const { status } = await create(front, account, { local_port: 1, name: subdomain });
  if (status !== 409) return `a tunnel got the name of an account: ${status}`;
  const name = `tunnel-${Math.random().toString(36).slice(2)}`;
  const created = await create(front, account, { local_port: 1, name });
  if (created.status === 429) return undefined;
  if (created.status !== 201) return `a tunnel was answered ${created.status}`;
  const taken = await createAccount(relay, { subdomain: name }).then(
    () => true,
    () => false,
  );
  return taken ? 'an account got the name of a tunnel' : undefined;
}

async function create(front: Front, { key }: TestAccount, body: object): Promise<Response> {
  const headers: Field[] = [
    ['Authorization', `Bearer ${key}`],
    ['Content-Type', 'application/json'],
  ];
  const text = JSON.stringify(body);
  return await ask(front, {
    method: 'POST',
    host: SHIPPED.relayHost,
    target: '/v1/tunnels',
    headers,
    body: text,
  });
}

async function cookieDomain(_scope: Scope, { front, host }: World): Promise<string | undefined> {
  const cookies = (await ask(front, { host, target: '/cookies' })).head.all('set-cookie');
  if (cookies.length === 0) return 'there are no cookies to look at';
  const wide = cookies.filter((cookie) => /domain/i.test(cookie));
  return wide.length === 0 ? undefined : wide.join(' and ');
}

async function beyondPrefix(_scope: Scope, { front, slug }: World): Promise<string | undefined> {
  const host = SHIPPED.relayHost;
  const { head } = await ask(front, { host, target: `/t/${slug}/cookies` });
  const cookies = head.all('set-cookie');
  if (cookies.length === 0) return 'there are no cookies to look at';
  const narrow = new RegExp(`^[^;]*; ?path=/t/${slug}(?:/[^;]*)?$`, 'i');
  const wide = cookies.filter((cookie) => !narrow.test(cookie));
  if (wide.length > 0) return wide.join(' and ');
  const beyond = await ask(front, { host, target: `/t/${slug}/beyond` });
  const passed = beyond.head.fields.filter(([, value]) => value.includes(EVIL));
  return passed.length === 0 ? undefined : passed.join();
}

async function claimAddress(_scope: Scope, { front, host }: World): Promise<string | undefined> {
  const names = [
    'X-Forwarded-For',
    'X_Forwarded_For',
    'X-Real-IP',
    'X_Real_IP',
    'True-Client-IP',
    'CF-Connecting-IP',
  ];
  const headers = [...names.map((name): Field => [name, CLAIMED]), ['Forwarded', `for=${CLAIMED}`] as Field];
  // Some proxies refuse a few of the spellings, so they are tried one at a time.
  for (const header of headers) {
    const { status, text } = await ask(front, { host, target: '/echo', headers: [header] });
    if (status === 200 && text.includes(CLAIMED)) return `${header[0]} passed: ${text}`;
  }
  return undefined;
}

async function guessKeys(scope: Scope, { front }: World): Promise<string | undefined> {
  const connection = await front.open(scope, { from: '127.0.0.66' });
  let believed = 0;
  let status = 401;
  // The limit refills more slowly than that.
  while (status === 401 && believed < 200) {
    const headers = [['Authorization', `Bearer ${newApiKey()}`] as Field];
    ({ status } = await connection.request({ host: SHIPPED.relayHost, target: '/v1/account', headers }));
    believed += 1;
  }
  return status === 429 ? undefined : `${believed} wrong keys were looked up, then came ${status}`;
}

/** Stops the client between two requests of visitors, with all its connections open. */
async function freeze(scope: Scope, { front, host, client }: World): Promise<string | undefined> {
  const visitors = await Promise.all(
    Array.from({ length: 4 }, () => front.open(scope, { from: FROM, timeoutMs: FROZEN_MS })),
  );
  const request = formatRequest({ host });
  for (const visitor of visitors) {
    await visitor.write(request);
    await visitor.response();
  }
  process.kill(client, 'SIGSTOP');
  try {
    const answers = visitors.map(async (visitor) => {
      await visitor.write(request);
      return await visitor.response().then(
        ({ status }) => status,
        (error: unknown) => (String(error).includes('ended') ? 0 : String(error)),
      );
    });
    const endless = (await Promise.all(answers)).filter((answer) => typeof answer === 'string');
    return endless.length === 0 ? undefined : `${endless.length} of 4 wait: ${endless[0]}`;
  } finally {
    process.kill(client, 'SIGCONT');
    await backAgain(front, host);
  }
}

/** Resumes the client, which the following attacks need. */
async function backAgain(front: Front, host: string): Promise<void> {
  const end = performance.now() + FROZEN_MS;
  while (performance.now() < end) {
    const { status } = await ask(front, { host }).catch(() => ({ status: 0 }));
    if (status === 200) return;
    await delay(200);
  }
  throw new Error('a client that goes on after it froze is not back');
}

async function forms(scope: Scope, { front, host }: World): Promise<string | undefined> {
  const absolute = await ask(front, { host, target: `http://${host}/` });
  if (absolute.status !== 200) return `the absolute form was answered ${absolute.status}`;
  if (front.name === 'straight') {
    const options = await ask(front, { method: 'OPTIONS', target: '*', host: SHIPPED.relayHost });
    if (options.status >= 300) return `OPTIONS * was answered ${options.status}`;
  }
  for (const size of ['5;', '5;bad[=x', '5;a="']) {
    const bytes = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\nhello\r\n0\r\n\r\n`;
    const { status } = await ask(front, Buffer.from(bytes, 'latin1'));
    // Some proxies rewrite the chunks. A refusal by a proxy also counts.
    if (front.name === 'straight' && status !== 400) return `a chunk of ${size} was answered ${status}`;
  }
  const connection = await front.open(scope, { from: FROM });
  const refused = { host: SHIPPED.relayHost, target: '/t/nobody-has-this/' };
  await connection.write(formatRequest({ ...refused, method: 'HEAD' }));
  await connection.response('HEAD');
  const next = await connection.request({ host });
  return next.text === EVIL ? undefined : `behind a HEAD came ${next.status} ${next.text.slice(0, 100)}`;
}

/* The attacker's service: the requested path determines the response. */

/** A mark that only the attacker's own visitors may see. */
export const EVIL = 'evil';

const FORGED = '{"error":"invalid api key","code":"invalid-key"}';
const FINAL = `HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: ${FORGED.length}\r\n\r\n${FORGED}`;
/** ms within which a proxy would reuse its connection for another visitor. */
const AFTER_INTERIM_MS = 300;

const COOKIES = [
  `a=1; Path=/; Path=/`,
  `b=1; Path=""`,
  `c=1; Path=relative`,
  `d=1`,
  `e=1; path=/t/; Domain=tunnels.example.com`,
  `f=1; Domain=.tunnels.example.com; Path=/`,
];
/** Fields with an effect beyond their page. */
const BEYOND = ['NEL', 'Report-To', 'Alt-Svc', 'Use-As-Dictionary', 'Service-Worker-Allowed'];
const STEERING = [
  'X-Accel-Redirect',
  'X-Accel-Buffering',
  'X-Accel-Limit-Rate',
  'X-Sendfile',
  'X-Reproxy-URL',
];

function response(fields: readonly string[], body = EVIL): string {
  return ['HTTP/1.1 200 OK', ...fields, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

const CROWDED = ['103 Early Hints', '103 Early Hints', '200 OK\r\nContent-Length: 0']
  .map((start) => `HTTP/1.1 ${start}\r\n${crowdedFields(58_000, 7000)}\r\n`)
  .join('');

/** @returns its port */
export async function startEvilService(scope: Scope): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    const write = (text: string): void => void socket.write(Buffer.from(text, 'latin1'));
    const serve = async (): Promise<void> => {
      for (;;) {
        const head = (await reader.through('\r\n\r\n')).toString('latin1');
        const [, target = ''] = head.split(' ', 2);
        if (target === '/interim') {
          write('HTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n');
          await delay(AFTER_INTERIM_MS);
          write(FINAL);
        } else if (target === '/crowded') write(CROWDED);
        else if (target === '/cookies') write(response(COOKIES.map((cookie) => `Set-Cookie: ${cookie}`)));
        else if (target === '/beyond') write(response(BEYOND.map((name) => `${name}: ${EVIL}`)));
        else if (target === '/steer') write(response(STEERING.map((name) => `${name}: /${EVIL}`)));
        else if (target === '/echo') write(response([], head));
        else write(response([]));
      }
    };
    // Visitors may leave at any time.
    serve().catch(() => socket.destroy());
  });
  return port;
}
