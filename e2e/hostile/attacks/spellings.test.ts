import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { type Field, formatRequest } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, inParallel, sample } from './measure.ts';
import { type Front, startFronts } from './fronts.ts';

type Figure = 'distinct' | 'strayed' | 'serverErrors' | 'reached';

/** One name is a prefix of the other, and each account has both a tunnel and a subdomain. */
const PLACES: readonly [Place, Place, Place] = [
  { name: 'shop', account: 'acme' },
  { name: 'shop-two', account: 'other' },
  { name: 'hop', account: 'third' },
];
const VISITORS = 12;
/** The number in a short run. */
const SHORT = 130;
const TOKEN = /^case-token: (\S+)/gim;

testAttack<Figure>({
  name: 'spellings',
  title:
    "Requests spell the tunnels' hosts and paths in valid and invalid ways, directly and through nginx, HAProxy and Caddy",
  thresholds: {
    distinct: { meaning: 'different spellings of hosts and paths', atLeast: 120 },
    strayed: { meaning: 'requests that reached the wrong tunnel', atMost: 0 },
    serverErrors: { meaning: 'responses with status 5xx', atMost: 0 },
    reached: { meaning: 'requests that reached the right tunnel', atLeast: 120 },
  },

  async run({ scope, short, seed, say }) {
    const { relay, fronts } = await startFronts(scope);
    const reachedBy = new Map<string, string[]>();
    for (const { name, account } of PLACES) {
      const port = await startWitness(scope, name, reachedBy);
      const { key } = await createAccount(relay, { subdomain: account });
      const url = { url: `http://127.0.0.1:${relay.port}` };
      await Culvert.start(scope, url, key, port, ['--name', name]);
    }
    const names = { ...SHIPPED, places: PLACES };
    const random = new Random(seed);
    const all = spellingsOf(names, random);
    const cases = sample(all, short ? SHORT : all.length, random);
    const faults = new Faults();
    let reached = 0;
    for (const front of fronts) {
      say(`${cases.length} spellings, ${front.name}`);
      await inParallel(VISITORS, cases.entries(), async ([number, spelling]) => {
        const token = `${front.name}-${number}`;
        const what = `${front.name}: ${JSON.stringify(spelling)}`;
        const status = await ask(front, spelling, token);
        if (status >= 500) faults.add('serverErrors', `${what} was answered ${status}`);
        const { may, mayBehindProxy = may } = spelling;
        const allowed = front.name === 'straight' ? may : mayBehindProxy;
        const seen = reachedBy.get(token) ?? [];
        const strayed = seen.filter((name) => !allowed.includes(name));
        if (strayed.length > 0 || seen.length > 1) faults.add('strayed', `${what} reached ${seen.join()}`);
        else reached += seen.length;
      });
    }
    return {
      figures: { distinct: cases.length, reached, ...faults.counts('strayed', 'serverErrors') },
      faults: faults.first,
    };
  },
});

/** A service that records the requests that reached it. */
async function startWitness(scope: Scope, name: string, reachedBy: Map<string, string[]>): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, token = ''] of text.slice(0, end).matchAll(TOKEN)) {
        reachedBy.set(token, [...(reachedBy.get(token) ?? []), name]);
      }
      text = text.slice(end + 4);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    socket.on('end', () => socket.end());
  });
  return port;
}

/** @returns the status, or 0 if the connection ended without a response */
async function ask(front: Front, { host, target, headers = [] }: Spelling, token: string): Promise<number> {
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const request = formatRequest({ host, target, headers: [...headers, ['Case-Token', token]] });
    await connection.write(request);
    return (await connection.finalHead()).status;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('the stream ended')) return 0;
    throw error;
  } finally {
    await scope.end();
  }
}

/*
 * Ways to write the host and the path of a tunnel, and which tunnel each may reach. They follow the rules of the
 * specification, and are not taken from the relay.
 */

export interface Place {
  /** name of the tunnel */
  readonly name: string;
  /** subdomain of its account */
  readonly account: string;
}

export interface Spelling {
  readonly host: string;
  readonly target: string;
  /** in addition to `Host` */
  readonly headers?: readonly Field[];
  /** names of the tunnels it may reach */
  readonly may: readonly string[];
  /** if a request contradicts itself, a proxy in front may choose one meaning */
  readonly mayBehindProxy?: readonly string[];
}

/** The names on one relay. */
export interface Names {
  readonly places: readonly [Place, Place, ...Place[]];
  readonly tunnelDomain: string;
  readonly relayHost: string;
}

/** All spellings, without duplicates. */
export function spellingsOf(names: Names, random: Random): Spelling[] {
  const { places } = names;
  const all = places.flatMap((place, index) => {
    const other = places[(index + 1) % places.length] ?? places[0];
    return [
      ...rightHosts(place, names, random),
      ...wrongHosts(place, other, names),
      ...paths(place, other, names),
      ...foreignHosts(place, names),
      ...contradictions(place, other, names),
    ];
  });
  const byText = new Map(all.map((spelling) => [JSON.stringify(spelling), spelling]));
  return [...byText.values()];
}

function rightHosts({ name, account }: Place, { tunnelDomain }: Names, random: Random): Spelling[] {
  const hosts = [`${name}.${tunnelDomain}`, `${name}.${account}.${tunnelDomain}`];
  const spelled = hosts.flatMap((host) => {
    const mixed = Array.from({ length: 8 }, () => mixedCase(host, random));
    const cased = [host, host.toUpperCase(), ...mixed];
    return cased.flatMap((each) => [
      each,
      `${each}.`,
      `${each}:443`,
      `${each}.:443`,
      `${each}:`,
      `${each}:1`,
    ]);
  });
  return spelled.map((host) => ({ host, target: '/', may: [name] }));
}

/** Hosts that resemble the tunnel's, but are different. */
function wrongHosts({ name, account }: Place, other: Place, { places, tunnelDomain }: Names): Spelling[] {
  const labels = [
    `${name}.${other.account}`,
    `${name}.nobody`,
    `x.${name}`,
    `${name}.x`,
    `x.${name}.${account}`,
    `${name}.x.${account}`,
    `${name}.${other.name}`,
    `${name}.`,
    `.${name}`,
    `${name}..${account}`,
    `${name}x`,
    `x${name}`,
    `${name}-`,
    `-${name}`,
    `_${name}`,
    `${name}_`,
    name.slice(0, -1),
    name.slice(1),
    `*`,
    `%${hex(name, 0)}${name.slice(1)}`,
    `%25${hex(name, 0)}${name.slice(1)}`,
    `${name}%00`,
    `${name}%2e${account}`,
    `${name}\\`,
    `${name}@${other.name}`,
    `${name},${other.name}`,
    `${name} ${other.name}`,
    `${name}\t${other.name}`,
    `${name};`,
    `${name}/..`,
    `${name}?`,
    `${name}#`,
    `${name}:80@${other.name}`,
    `xn--${name}`,
    `${'x'.repeat(64)}${name}`,
    `${'x.'.repeat(120)}${name}`,
    // A letter that some parsers would fold to the intended one, in UTF-8 and in latin1.
    `${name.slice(0, -1)}\xc5\xbf`,
    `\xef\xbd\x93${name.slice(1)}`,
    `${name}\xad`,
    `${name}\xa0`,
    `${name}\0`,
    `${name}\v`,
  ]
    .filter((label) => places.every((place) => place.name !== label))
    .map((label) => `${label}.${tunnelDomain}`);
  const whole = [
    `${name}.${tunnelDomain}..`,
    `${name}.${tunnelDomain}:99999999`,
    `${name}.${tunnelDomain}:abc`,
    `${name}.${tunnelDomain}:-1`,
    `${name}.${tunnelDomain}:443:443`,
    `${name}.${tunnelDomain}:443x`,
    `${name}.${tunnelDomain}, ${other.name}.${tunnelDomain}`,
    `${name}.${tunnelDomain}.${tunnelDomain}`,
    `${name}.${tunnelDomain}.example.org`,
    `${name}.x${tunnelDomain}`,
    `${name}${tunnelDomain}`,
    `https://${name}.${tunnelDomain}`,
    `//${name}.${tunnelDomain}`,
    `${name}.${tunnelDomain}/`,
    `${name}.${tunnelDomain}\\@${other.name}.${tunnelDomain}`,
    `u:p@${name}.${tunnelDomain}`,
    `[${name}.${tunnelDomain}]`,
    `[::1].${name}.${tunnelDomain}`,
    `"${name}.${tunnelDomain}"`,
    name,
    `${name}.`,
    `${name}.${account}`,
  ];
  return [...labels, ...whole].map((host) => ({ host, target: '/', may: [] }));
}

/** Paths at the relay's own host. Whatever follows the first segment that names a tunnel has no meaning. */
function paths({ name }: Place, other: Place, { relayHost }: Names): Spelling[] {
  const here = [
    '',
    '/',
    '//',
    '?',
    '?x=/t/OTHER',
    '/?/../../t/OTHER',
    '/..',
    '/../',
    '/../OTHER',
    '/../../t/OTHER',
    '/..%2fOTHER',
    '/%2e%2e/OTHER',
    '/%2e%2e%2fOTHER',
    '/.%2e/OTHER/',
    '/..;/OTHER/',
    '/..\\OTHER',
    '/\\..\\..\\t\\OTHER',
    '/%5c../OTHER',
    '/./',
    '//t/OTHER',
    '/t/OTHER',
    '/%00/../OTHER',
    '/\xc0\xae\xc0\xae/OTHER',
    '/%c0%ae%c0%ae/OTHER',
    '/%252e%252e/OTHER',
    '/https://OTHER/',
    '/x/../../OTHER/x',
    '#/t/OTHER',
    '#',
  ].map((rest) => ({ target: `/t/${name}${rest}`, may: [name] }));
  const nowhere = [
    `/T/${name}`,
    `/t/${name.toUpperCase()}`,
    `/t/${name[0]?.toUpperCase()}${name.slice(1)}/`,
    `//t/${name}`,
    `///t/${name}`,
    `/t//${name}`,
    `/./t/${name}`,
    `/t/./${name}`,
    `/t/../t/${name}`,
    `/x/../t/${name}`,
    `/%74/${name}`,
    `/t%2f${name}`,
    `/t/%${hex(name, 0)}${name.slice(1)}`,
    `/t/${name.slice(0, -1)}%${hex(name, name.length - 1)}/`,
    `/t/${name}%2f`,
    `/t/${name}%2f..%2f${other.name}`,
    `/t/${name}%3f`,
    `/t/${name}%00`,
    `/t/${name}%20`,
    `/t/${name}.`,
    `/t/${name};x=1`,
    `/t/${name};/`,
    `/t/${name}\\`,
    `/t\\${name}`,
    `\\t\\${name}`,
    `/t/ ${name}`,
    `/t/${name},${other.name}`,
    `/t/*`,
    `/t/`,
    `/t`,
    `/tt/${name}`,
    `/t/t/${name}`,
    `/v1/../t/${name}`,
    `/healthz/../t/${name}`,
    `/?/t/${name}`,
    `t/${name}`,
    `?t=${name}`,
    `/t/${name}\xff/`,
  ].map((target) => ({ target, may: [] }));
  return [...here, ...nowhere].map(({ target, may }) => ({
    host: relayHost,
    target: target.replaceAll('OTHER', other.name),
    may,
  }));
}

/** Hosts that resolve to the relay, but are neither its own nor a verified domain: they have no path form. */
function foreignHosts({ name }: Place, { relayHost }: Names): Spelling[] {
  const hosts = [
    'shop.example.org',
    `${relayHost}.example.org`,
    `x${relayHost}`,
    `${relayHost}..`,
    `www.${relayHost}`,
    'SHOP.example.org.:443',
    '192.0.2',
    '192.0.2.1.1',
    '1.2.3.4.example.org',
    'localhost.example.org',
    'xlocalhost.example',
    '[::1].example.org',
    '',
  ];
  return hosts.flatMap((host) => [
    { host, target: `/t/${name}/`, may: [] },
    { host, target: `/t/${name}`, may: [] },
    { host, target: `https://${host}/t/${name}/`, may: [] },
  ]);
}

/** Requests that name two tunnels, or a tunnel and the relay. */
function contradictions(place: Place, other: Place, { tunnelDomain, relayHost }: Names): Spelling[] {
  const [host, otherHost] = [`${place.name}.${tunnelDomain}`, `${other.name}.${tunnelDomain}`];
  const [own, both] = [[place.name], [place.name, other.name]];
  const fields: Field[] = [
    ['X-Forwarded-Host', otherHost],
    ['X-Host', otherHost],
    ['X-Original-Host', otherHost],
    ['X-HTTP-Host-Override', otherHost],
    ['Forwarded', `host=${otherHost}`],
    ['X-Original-URL', `https://${otherHost}/`],
    ['X-Rewrite-URL', `/t/${other.name}`],
    ['X-Forwarded-Prefix', `/t/${other.name}`],
    ['X-Forwarded-Uri', `/t/${other.name}`],
    ['X-Forwarded-Server', otherHost],
    ['Location', `https://${otherHost}/`],
  ];
  return [
    ...fields.map((field) => ({ host, target: '/', headers: [field], may: own })),
    ...fields.map((field) => ({ host: relayHost, target: `/t/${place.name}/`, headers: [field], may: own })),
    { host, target: `/t/${other.name}/`, may: own },
    { host, target: `https://${host}/`, may: own },
    { host: host.toUpperCase(), target: `http://${host}/x`, may: own },
    { host, target: `https://${otherHost}/`, may: [], mayBehindProxy: both },
    { host, target: `https://${relayHost}/t/${other.name}/`, may: [], mayBehindProxy: both },
    { host: relayHost, target: `https://${host}/`, may: [], mayBehindProxy: own },
    { host, target: `https://u@${otherHost}/`, may: [], mayBehindProxy: both },
    { host, target: `//${otherHost}/`, may: own },
    { host, target: `/@${otherHost}/`, may: own },
    { host, target: '/', headers: [['Host', otherHost]], may: [] },
    { host: otherHost, target: '/', headers: [['host', host]], may: [] },
    { host, target: '/', headers: [['Host ', otherHost]], may: [] },
    { host, target: '/', headers: [[' Host', otherHost]], may: [] },
    { host, target: '/', headers: [['X', `y\r\n Host: ${otherHost}`]], may: own },
  ];
}

function mixedCase(text: string, random: Random): string {
  return text.replaceAll(/[a-z]/g, (letter) => (random.below(2) === 0 ? letter.toUpperCase() : letter));
}

function hex(text: string, at: number): string {
  return (text.codePointAt(at) ?? 0).toString(16);
}
