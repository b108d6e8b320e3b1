/**
 * Ways to write the host and the path of a tunnel, and which tunnel each may reach. They follow the rules of
 * protocol.md sections 4.1 and 4.4, and are not taken from the relay.
 */
import assert from 'node:assert/strict';
import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { type Field, formatRequest } from '../../support/raw-http.ts';
import { Scope, suiteScope } from '../../support/scope.ts';
import { startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { Faults, inParallel, sample, SEED } from './attack.ts';
import { type Front, startFronts } from './fronts.ts';
import { words } from './messages/cases.ts';

/** One name is a prefix of the other, and each account has both a tunnel and a subdomain. */
const PLACES = [
  { name: 'shop', account: 'acme' },
  { name: 'shop-two', account: 'other' },
  { name: 'hop', account: 'third' },
] as const;
type Place = (typeof PLACES)[number];

const VISITORS = 12;
/** Spellings in a run, of some 1,000. */
const COUNT = 130;
const TOKEN = /^case-token: (\S+)/gim;

/** Ways to end the host of a tunnel that do not change it. */
const ENDS = ['', '.', ':443', '.:443', ':', ':1'];
const MIXED_CASES = 8;

/*
 * NAME and ACCOUNT are those of the tunnel, OTHER and OWNER those of another one, REST is the name without its first
 * letter, NAM without its last one, FIRST and LAST are these letters in hex, CAPITAL is the name with a capital letter.
 */

/** Labels in front of the tunnel domain that resemble the tunnel's, but are different. */
const WRONG_LABELS = [
  ...words(`
    NAME.OWNER NAME.nobody x.NAME NAME.x x.NAME.ACCOUNT NAME.x.ACCOUNT NAME.OTHER NAME. .NAME NAME..ACCOUNT NAMEx xNAME
    NAME- -NAME _NAME NAME_ NAM REST * %FIRSTREST %25FIRSTREST NAME%00 NAME%2eACCOUNT NAME\\ NAME@OTHER NAME,OTHER
    NAME\tOTHER NAME; NAME/.. NAME? NAME# NAME:80@OTHER xn--NAME NAME\xad NAME\xa0 NAME\0 NAME\v
    NAM\xc5\xbf \xef\xbd\x93REST
  `),
  'NAME OTHER',
  `${'x'.repeat(64)}NAME`,
  `${'x.'.repeat(120)}NAME`,
];
const WRONG_HOSTS = [
  ...words(`
    HOST.. HOST:99999999 HOST:abc HOST:-1 HOST:443:443 HOST:443x HOST.DOMAIN HOST.example.org NAME.xDOMAIN NAMEDOMAIN
    https://HOST //HOST HOST/ HOST\\@OTHERHOST u:p@HOST [HOST] [::1].HOST "HOST" NAME NAME. NAME.ACCOUNT
  `),
  'HOST, OTHERHOST',
];

/** What may follow the first segment that names a tunnel, at the relay's own host. It has no meaning. */
const PATH_ENDS = [
  '',
  ...words(`
    / // ? ?x=/t/OTHER /?/../../t/OTHER /.. /../ /../OTHER /../../t/OTHER /..%2fOTHER /%2e%2e/OTHER /%2e%2e%2fOTHER
    /.%2e/OTHER/ /..;/OTHER/ /..\\OTHER /\\..\\..\\t\\OTHER /%5c../OTHER /./ //t/OTHER /t/OTHER /%00/../OTHER
    /\xc0\xae\xc0\xae/OTHER /%c0%ae%c0%ae/OTHER /%252e%252e/OTHER /https://OTHER/ /x/../../OTHER/x #/t/OTHER #
  `),
];
/** Targets at the relay's own host that name no tunnel. */
const WRONG_TARGETS = [
  ...words(`
    /T/NAME /t/UPPER /t/CAPITAL/ //t/NAME ///t/NAME /t//NAME /./t/NAME /t/./NAME /t/../t/NAME /x/../t/NAME /%74/NAME
    /t%2fNAME /t/%FIRSTREST /t/NAM%LAST/ /t/NAME%2f /t/NAME%2f..%2fOTHER /t/NAME%3f /t/NAME%00 /t/NAME%20 /t/NAME.
    /t/NAME;x=1 /t/NAME;/ /t/NAME\\ /t\\NAME \\t\\NAME /t/NAME,OTHER /t/* /t/ /t /tt/NAME /t/t/NAME /v1/../t/NAME
    /healthz/../t/NAME /?/t/NAME t/NAME ?t=NAME /t/NAME\xff/
  `),
  '/t/ NAME',
];
/** Hosts that resolve to the relay, but are neither its own nor a verified domain: they have no path form. */
const FOREIGN_HOSTS = [
  '',
  ...words(`
    shop.example.org RELAY.example.org xRELAY RELAY.. www.RELAY SHOP.example.org.:443 192.0.2 192.0.2.1.1
    1.2.3.4.example.org localhost.example.org xlocalhost.example [::1].example.org
  `),
];
/** Fields that must not choose another tunnel. */
const FIELDS = words(`
  X-Forwarded-Host:OTHERHOST X-Host:OTHERHOST X-Original-Host:OTHERHOST X-HTTP-Host-Override:OTHERHOST
  Forwarded:host=OTHERHOST X-Original-URL:https://OTHERHOST/ X-Rewrite-URL:/t/OTHER X-Forwarded-Prefix:/t/OTHER
  X-Forwarded-Uri:/t/OTHER X-Forwarded-Server:OTHERHOST Location:https://OTHERHOST/
`);
/** Requests that name two tunnels, or a tunnel and the relay: those that may reach it, and those that are ambiguous. */
const AGREEING: readonly (readonly [host: string, target: string])[] = [
  ['HOST', '/t/OTHER/'],
  ['HOST', 'https://HOST/'],
  ['HOST', '//OTHERHOST/'],
  ['HOST', '/@OTHERHOST/'],
];
const AMBIGUOUS: readonly (readonly [host: string, target: string])[] = [
  ['HOST', 'https://OTHERHOST/'],
  ['HOST', 'https://RELAY/t/OTHER/'],
  ['RELAY', 'https://HOST/'],
  ['HOST', 'https://u@OTHERHOST/'],
];

interface Spelling {
  readonly host: string;
  readonly target: string;
  /** in addition to `Host` */
  readonly headers?: readonly Field[];
  /** names of the tunnels it may reach */
  readonly may: readonly string[];
  /** if a request contradicts itself, a proxy in front may choose one meaning */
  readonly mayBehindProxy?: readonly string[];
}

/** All spellings, without duplicates. */
function spellings(random: Random): Spelling[] {
  const all = PLACES.flatMap((place, index) =>
    spellingsOf(place, PLACES[(index + 1) % PLACES.length] ?? PLACES[0], random),
  );
  return [...new Map(all.map((spelling) => [JSON.stringify(spelling), spelling])).values()];
}

function spellingsOf({ name, account }: Place, other: Place, random: Random): Spelling[] {
  const { relayHost, tunnelDomain } = SHIPPED;
  const [host, otherHost] = [`${name}.${tunnelDomain}`, `${other.name}.${tunnelDomain}`];
  const values: Readonly<Record<string, string>> = {
    NAME: name,
    ACCOUNT: account,
    OTHER: other.name,
    OWNER: other.account,
    HOST: host,
    OTHERHOST: otherHost,
    DOMAIN: tunnelDomain,
    RELAY: relayHost,
    NAM: name.slice(0, -1),
    REST: name.slice(1),
    FIRST: hex(name, 0),
    LAST: hex(name, name.length - 1),
    UPPER: name.toUpperCase(),
    CAPITAL: `${name[0]?.toUpperCase()}${name.slice(1)}`,
  };
  const longFirst = Object.keys(values).sort((one, two) => two.length - one.length);
  const filled = (text: string): string =>
    text.replaceAll(new RegExp(longFirst.join('|'), 'g'), (key) => values[key] ?? '');

  const right = [host, `${name}.${account}.${tunnelDomain}`].flatMap((each) =>
    [each, each.toUpperCase(), ...Array.from({ length: MIXED_CASES }, () => mixedCase(each, random))].flatMap(
      (cased) => ENDS.map((end) => cased + end),
    ),
  );
  const wrong = WRONG_LABELS.map(filled)
    .filter((label) => PLACES.every((place) => place.name !== label))
    .map((label) => `${label}.${tunnelDomain}`);
  const own = [name];
  const fields = FIELDS.map((text): Field => {
    const [field = '', ...value] = filled(text).split(':');
    return [field, value.join(':')];
  });
  return [
    ...right.map((each) => ({ host: each, target: '/', may: own })),
    ...[...wrong, ...WRONG_HOSTS.map(filled)].map((each) => ({ host: each, target: '/', may: [] })),
    ...PATH_ENDS.map((end) => ({ host: relayHost, target: filled(`/t/NAME${end}`), may: own })),
    ...WRONG_TARGETS.map((target) => ({ host: relayHost, target: filled(target), may: [] })),
    ...FOREIGN_HOSTS.map(filled).flatMap((each) =>
      [`/t/${name}/`, `/t/${name}`, `https://${each}/t/${name}/`].map((target) => ({
        host: each,
        target,
        may: [],
      })),
    ),
    ...fields.flatMap((field) => [
      { host, target: '/', headers: [field], may: own },
      { host: relayHost, target: `/t/${name}/`, headers: [field], may: own },
    ]),
    ...AGREEING.map(([at, target]) => ({ host: filled(at), target: filled(target), may: own })),
    ...AMBIGUOUS.map(([at, target]) => ({
      host: filled(at),
      target: filled(target),
      may: [],
      mayBehindProxy: [name, other.name],
    })),
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

describe("requests that spell the tunnels' hosts and paths in valid and invalid ways", () => {
  const scope = suiteScope();

  it('reach their own tunnel or none, directly and through nginx, HAProxy and Caddy', async () => {
    const { relay, fronts } = await startFronts(scope);
    const reachedBy = new Map<string, string[]>();
    for (const { name, account } of PLACES) {
      const port = await startWitness(scope, name, reachedBy);
      const { key } = await createAccount(relay, { subdomain: account });
      await Culvert.start(scope, { url: `http://127.0.0.1:${relay.port}` }, key, port, ['--name', name]);
    }
    const random = new Random(SEED);
    const cases = sample(spellings(random), COUNT, random);
    const faults = new Faults();
    let reached = 0;
    await Promise.all(
      fronts.map((front) =>
        inParallel(VISITORS, cases.entries(), async ([number, spelling]) => {
          const token = `${front.name}-${number}`;
          const what = `${front.name}: ${JSON.stringify(spelling)}`;
          const status = await ask(front, spelling, token);
          if (status >= 500) faults.add('server error', `${what} was answered ${status}`);
          const { may, mayBehindProxy = may } = spelling;
          const allowed = front.name === 'straight' ? may : mayBehindProxy;
          const seen = reachedBy.get(token) ?? [];
          const isStray = seen.length > 1 || seen.some((name) => !allowed.includes(name));
          if (isStray) faults.add('strayed', `${what} reached ${seen.join()}`);
          else reached += seen.length;
        }),
      ),
    );
    faults.assertNone();
    assert.ok(reached > COUNT, `only ${reached} reached a tunnel`);
  });
});

/** A service that records the requests that reached it. */
async function startWitness(scope: Scope, name: string, reachedBy: Map<string, string[]>): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, token = ''] of text.slice(0, end).matchAll(TOKEN))
        reachedBy.set(token, [...(reachedBy.get(token) ?? []), name]);
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
    await connection.write(formatRequest({ host, target, headers: [...headers, ['Case-Token', token]] }));
    return (await connection.finalHead()).status;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('the stream ended')) return 0;
    throw error;
  } finally {
    await scope.end();
  }
}
