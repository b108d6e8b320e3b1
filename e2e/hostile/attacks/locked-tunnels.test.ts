/**
 * Strangers who try to get access to protected tunnels (sharing-safely.md) while other visitors have it, fields that must
 * not leave such a tunnel, and responses that must not outlive a link.
 */
import type { NewLink } from '../../../shared/links.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { within } from '../../support/deadline.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { type Field, formatRequest, RawConnection, visit, WEBSOCKET } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { testAttack } from './attack.ts';
import { Faults, inParallel, ResidentWatch } from './measure.ts';

type Figure = 'tries' | 'inside' | 'leaked' | 'cut' | 'outlived' | 'growth' | 'ended' | 'served' | 'unserved';

const PASSWORD = 'mild oak fern';
const TRIES = 40_000;
/**
 * Each method a hundred times: a password costs the relay a tenth of a second of computing, and several on a busy
 * machine.
 */
const SHORT_TRIES = 250;
/** Connections that the strangers use at a time. */
const AT_A_TIME = 32;
const NETWORKS = 250;

/** The number of links. When one ends, its visitors have one response of each kind open. */
const LINKS = 40;
/** ms from the end of a link until all its visitors are disconnected, on a busy machine. */
const OUT_MS = 20_000;
/** Fields sent by the service, which strangers must not get. */
const SECRETS: readonly Field[] = [
  ['X-Inside', '1'],
  ['CDN-Cache-Control', 'max-age=600'],
  ['Cloudflare-CDN-Cache-Control', 'max-age=600'],
  ['Surrogate-Control', 'max-age=600'],
  ['Edge-Control', 'cache-maxage=600s'],
  ['Set-Cookie', '=culvert-pass=planted; Path=/'],
  ['Set-Cookie', '=__Host-culvert-pass=planted; Path=/; Secure'],
];
/** The only one of them that a visitor with access gets. */
const MAY_LEAVE = 'x-inside';
const PREFLIGHT: readonly Field[] = [
  ['Origin', 'https://a.example'],
  ['Access-Control-Request-Method', 'PUT'],
];

/** A stranger's knowledge: the addresses of the tunnels, a cookie of another one, and what a visitor's browser adds. */
interface Known {
  readonly target: string;
  readonly cookie: string;
  /** cookie of a visitor of the tunnel with users, who is shown a stranger's page */
  readonly visitor: string;
  readonly random: Random;
}

/** One attempt: the request without its source. */
type Try = (known: Known) => {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly Field[];
  readonly body?: string;
};

const TRIES_OF: Readonly<Record<string, Try>> = {
  'a wrong password, with HTTP Basic': ({ random }) => ({ headers: [basic('ann', word(random))] }),
  'a user that there is not': ({ random }) => ({ headers: [basic(word(random), PASSWORD)] }),
  'a wrong password, in the form': ({ random }) => ({
    method: 'POST',
    target: '/?culvert_gate',
    body: new URLSearchParams({ culvert_password: word(random) }).toString(),
  }),
  'the cookie of another tunnel': ({ cookie }) => ({ headers: [['Cookie', cookie]] }),
  'a cookie that was made up': ({ random }) => ({
    headers: [['Cookie', `culvert-pass=visit.9999999999.cGFzc3dvcmQ.${word(random).padEnd(43, 'A')}`]],
  }),
  'a hundred cookies': ({ cookie, random }) => ({
    headers: [['Cookie', Array.from({ length: 100 }, () => `${cookie}${word(random)}`).join('; ')]],
  }),
  'a signed link that was made up': ({ random }) => ({
    target: `/?culvert_pass=0123456789abcdef.9999999999..${word(random).padEnd(43, 'A')}`,
  }),
  'the word of the relay': () => ({ headers: [['Culvert-Visitor', 'basic:ann']] }),
  'a preflight': () => ({ method: 'OPTIONS', headers: PREFLIGHT }),
  'a preflight, where HTTP Basic is set': () => ({ method: 'OPTIONS', headers: PREFLIGHT }),
  'a preflight with a body, where HTTP Basic is set': ({ random }) => ({
    method: 'OPTIONS',
    headers: PREFLIGHT,
    body: word(random),
  }),
  'a preflight for another method, where HTTP Basic is set': ({ random }) => ({
    method: 'OPTIONS',
    headers: [...PREFLIGHT, [`X${separator(random)}HTTP${separator(random)}Method-Override`, 'DELETE']],
  }),
  'the WebSocket of a page of another host, with the cookie of a visitor of HTTP Basic': ({
    visitor,
    random,
  }) => ({
    headers: [...WEBSOCKET, ['Cookie', visitor], ['Origin', originOf(random)]],
  }),
  'the WebSocket of a page of another host, with a password for HTTP Basic': ({ random }) => ({
    headers: [...WEBSOCKET, basic('ann', PASSWORD), ['Origin', originOf(random)]],
  }),
};

testAttack<Figure>({
  name: 'locked-tunnels',
  title: `Attackers from ${NETWORKS} networks try to open a restricted tunnel, ${AT_A_TIME} at a time, while visitors of other tunnels sign in`,
  thresholds: {
    tries: { meaning: 'attempts to open the tunnel', atLeast: SHORT_TRIES },
    inside: { meaning: 'attempts that got access', atMost: 0 },
    leaked: { meaning: 'internal header fields that were disclosed', atMost: 0 },
    cut: {
      meaning: 'endless responses requested through a signed link',
      atLeast: 2 * LINKS,
    },
    outlived: {
      meaning: 'endless responses still open after their link had expired or been revoked',
      atMost: 0,
    },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 150 },
    ended: { meaning: 'crashes of the relay', atMost: 0 },
    served: { meaning: 'visitors of other tunnels who signed in with a password', atLeast: 3 },
    unserved: { meaning: 'visitors of other tunnels who were refused', atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    /** bodies, and requests with other methods, that arrived without credentials */
    let bodies = 0;
    const service = await startHttpService(scope, (request, response) => {
      if (request.method === 'OPTIONS') {
        if (request.headers['x-http-method-override'] !== undefined) bodies += 1;
        request.on('data', () => (bodies += 1));
      }
      for (const [name, value] of SECRETS) response.appendHeader(name, value);
      if (request.url === '/events') response.setHeader('Content-Type', 'text/event-stream');
      if (request.url === '/events' || request.url === '/endless') response.write('begun');
      else response.end('inside');
    });
    service.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
    const relay = await Relay.start(scope, { CULVERT_TRUST_PROXY: '127.0.0.1' });
    const share = async (access: object): Promise<[TestAccount, Tunnel]> => {
      const account = await createAccount(relay, { plan: 'team' });
      const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
      await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: access });
      return [account, tunnel];
    };
    const basicOf = (user: string) => [{ user, password: PASSWORD }];
    const [, attacked] = await share({ password: PASSWORD, links: true, knock: true });
    const [, named] = await share({ basic: basicOf('ann') });
    const [otherAccount, other] = await share({ password: PASSWORD });
    const faults = new Faults();
    const watch = new ResidentWatch(scope, relay.child.pid);

    /** Submits the password of the other tunnel from a given address. */
    const signIn = async (from: string): Promise<string | undefined> => {
      const { head } = await visit(relay.port, {
        host: hostOf(other, relay),
        method: 'POST',
        target: '/?culvert_gate',
        headers: [['X-Forwarded-For', from]],
        body: new URLSearchParams({ culvert_password: PASSWORD }).toString(),
      });
      return head.field('set-cookie')?.split(';', 1)[0];
    };
    const cookie = (await signIn('198.51.100.1')) ?? '';
    const known = await visit(relay.port, {
      host: hostOf(named, relay),
      headers: [basic('ann', PASSWORD), ['Sec-Fetch-Mode', 'navigate']],
    });
    const visitor = known.head.field('set-cookie')?.split(';', 1)[0] ?? '';

    let served = 0;
    const attack = new AbortController();
    const others = (async () => {
      for (let count = 0; !attack.signal.aborted; count += 1) {
        // A different policy each time, so that no earlier result is cached.
        await otherAccount.api.send('PUT', `/v1/tunnels/${other.id}/access`, {
          json: { password: PASSWORD },
        });
        const own = await signIn(`198.51.100.${2 + (count % 200)}`);
        const { head, text } = await visit(relay.port, {
          host: hostOf(other, relay),
          headers: [['Cookie', own ?? '']],
        });
        if (text === 'inside') served += 1;
        else faults.add('unserved', text);
        for (const field of leakedFrom(head)) faults.add('leaked', `to a visitor: ${field}`);
      }
    })();

    const random = new Random(seed);
    const kinds = Object.entries(TRIES_OF);
    const tries = Array.from({ length: short ? SHORT_TRIES : TRIES }, (_, index) => index);
    await inParallel(AT_A_TIME, tries, async (index) => {
      const [what = '', make] = kinds[index % kinds.length] ?? [];
      const tunnel = what.includes('HTTP Basic') || what.includes('user') ? named : attacked;
      const request = make?.({ target: '/', cookie, visitor, random }) ?? {};
      const address = `203.0.113.${index % NETWORKS}`;
      const { head, text, status } = await visit(relay.port, {
        host: hostOf(tunnel, relay),
        ...request,
        headers: [...(request.headers ?? []), ['X-Forwarded-For', address]],
      });
      const isIn = text === 'inside' || status === 101 || head.field(MAY_LEAVE) !== undefined;
      if (isIn || (text !== '' && status === 200)) faults.add('inside', what);
      for (const field of leakedFrom(head)) faults.add('leaked', `${what}: ${field}`);
      if (index % 300 === 0)
        say(`${index} tries, ${Math.round(watch.growthMib)} MiB more, ${served} others served`);
    });
    attack.abort();
    await others;
    if (bodies > 0) faults.add('inside', `${bodies} bodies or methods of preflights`);
    const [linkAccount, linked] = await share({ links: true });
    say(`${LINKS} links end`);
    const cut = await endLinks(scope, { relay, account: linkAccount, tunnel: linked, faults });
    return {
      figures: {
        tries: tries.length,
        growth: watch.growthMib,
        ended: relay.child.hasExited ? 1 : 0,
        served,
        cut,
        ...faults.counts('inside', 'unserved', 'leaked', 'outlived'),
      },
      faults: faults.first,
    };
  },
});

/**
 * Opens a WebSocket, an event stream and another endless response with each of several links. Half of the links are
 * revoked, the others expire.
 *
 * @returns how many were open
 */
async function endLinks(
  scope: Scope,
  at: {
    readonly relay: Relay;
    readonly account: TestAccount;
    readonly tunnel: Tunnel;
    readonly faults: Faults;
  },
): Promise<number> {
  const { relay, account, tunnel, faults } = at;
  const path = `/v1/tunnels/${tunnel.id}/links`;
  const held: { readonly link: NewLink; readonly what: string; readonly visitor: RawConnection }[] = [];
  await inParallel(AT_A_TIME, Array.from({ length: LINKS }).keys(), async (index) => {
    const ttl = index % 2 === 0 ? '1h' : '20s';
    const link = (await account.api.send('POST', path, { json: { ttl } })).json as NewLink;
    const host = hostOf(tunnel, relay);
    const { search } = new URL(link.url);
    const led = await visit(relay.port, { host, target: `/${search}` });
    const cookie: Field = ['Cookie', led.head.field('set-cookie')?.split(';', 1)[0] ?? ''];
    for (const [what, target, headers] of [
      ['a WebSocket', '/', [...WEBSOCKET, cookie]],
      ['an event stream', '/events', [cookie]],
      ['a response without end', '/endless', [cookie]],
    ] as const) {
      const visitor = await RawConnection.open(scope, relay.port, 60_000);
      await visitor.write(formatRequest({ host, target, headers }));
      const { status } = await visitor.finalHead();
      if (status === 101 || status === 200) held.push({ link, what, visitor });
    }
    if (index % 2 === 0) await account.api.send('DELETE', `${path}/${link.id}`);
  });
  await Promise.all(
    held.map(async ({ link, what, visitor }) => {
      const ms = Math.max(0, Math.min(Date.parse(link.expires_at) - Date.now(), 20_000)) + OUT_MS;
      await within(ms, 'end', visitor.ending).catch(() =>
        faults.add('outlived', `${what}, ${link.expires_at}`),
      );
    }),
  );
  return held.length;
}

/** @returns fields of a service that must not leave its tunnel */
function leakedFrom({ fields }: { readonly fields: readonly Field[] }): string[] {
  const secrets = SECRETS.filter(([name]) => name.toLowerCase() !== MAY_LEAVE);
  return fields
    .filter(([name, value]) =>
      secrets.some((one) => one[0].toLowerCase() === name.toLowerCase() && one[1] === value),
    )
    .map(([name, value]) => `${name}: ${value}`);
}

/** An `Origin` that is not the tunnel's. */
function originOf(random: Random): string {
  const others = [
    'http://evil.localhost',
    'http://localhost',
    'null',
    'https://evil.example',
    'http://127.0.0.1',
  ];
  return others[random.below(others.length)] ?? 'null';
}

/** A character that services may confuse with a hyphen. */
function separator(random: Random): string {
  return '-_.~+'.charAt(random.below(5));
}

function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

/** A few letters. */
function word(random: Random): string {
  return random.below(1e9).toString(36);
}
