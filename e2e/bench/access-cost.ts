/**
 * `node e2e/bench/access-cost.ts`: ns that the access check takes to decide about a request, for each kind of access
 * (docs/guides/sharing-safely.md), and the overhead for a public tunnel. Medians of interleaved rounds.
 */
import { type Arrival, AccessCheck, PassedPasswords } from '../../server/access/access-check.ts';
import { AccessPolicy } from '../../server/access/access-policy.ts';
import { LinkTokens, Passes } from '../../server/access/passes.ts';
import type { StoredAccess } from '../../server/store/records.ts';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { median } from './stats.ts';

const ROUNDS = 15;
const TIMES = 20_000;
const NOW = Date.UTC(2026, 10, 1);
const ID = '0b5c2f6e-6a55-4f6b-9f0e-2d1f8c0f3f11';
const STORED: StoredAccess = {
  version: 'aaaaaaaaaaaa',
  allow: [],
  basic: [{ user: 'ann', hash: '' }],
  password: null,
  links: false,
  knock: false,
  tokens: [],
};

const secret = 'k'.repeat(43);
const passes = new Passes('visit', () => ({ current: secret, others: [] }));
const lastingPasses = new Passes('lasting', () => ({ current: secret, others: [] }));
const gate = new AccessCheck({
  passes,
  lastingPasses,
  links: new LinkTokens(() => ({ current: secret, others: [] })),
  cookieName: () => '__Host-culvert-pass',
  isGood: () => true,
});
const users = new AccessPolicy(STORED);
const networks = new AccessPolicy({ ...STORED, basic: [], allow: ['10.0.0.0/8', '127.0.0.0/8', '::1'] });
const passed = new PassedPasswords();
passed.add(ID, STORED.version, { user: 'ann', password: 'mild oak fern' });

const scope = { tunnelId: ID, version: STORED.version, form: 'host' } as const;
const pass = passes.make(scope, 'basic:ann', NOW / 1000 + 3600);
const linkPass = lastingPasses.make(scope, `link:${ID} for the review`, NOW / 1000 + 3600);
const withCookie = arrival(`Cookie: theirs=1; __Host-culvert-pass=${pass}\r\n`);
const withLink = arrival(`Cookie: theirs=1; __Host-culvert-pass=${linkPass}\r\n`);
const withPassword = arrival(
  `Authorization: Basic ${Buffer.from('ann:mild oak fern').toString('base64')}\r\n`,
);
const without = arrival('');
const open: { readonly access: AccessPolicy | undefined } = { access: undefined };
let done = 0;

const ways: readonly [what: string, decide: () => unknown][] = [
  ['open to everybody', () => open.access && gate.decide(open.access, without)],
  ['from an address', () => gate.decide(networks, without)],
  ['with a cookie', () => gate.decide(users, withCookie)],
  ['with the cookie of a link', () => gate.decide(users, withLink)],
  [
    'with a cookie that was not seen before',
    () => {
      passes.forget();
      return gate.decide(users, withCookie);
    },
  ],
  [
    'with a password that was right before',
    () => {
      const verdict = gate.decide(users, withPassword);
      return verdict.kind === 'check' && passed.has(STORED.version, verdict.credentials);
    },
  ],
  ['with nothing', () => gate.decide(users, without)],
];

const times = new Map<string, number[]>(ways.map(([what]) => [what, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [what, decide] of ways) {
    const start = performance.now();
    for (let count = 0; count < TIMES; count += 1) done += decide() === undefined ? 0 : 1;
    times.get(what)?.push(((performance.now() - start) * 1e6) / TIMES);
  }
}
for (const [what, each] of times) console.log(`${what}: ${Math.round(median(each))} ns`);
console.log(`${done} decisions`);

function arrival(fields: string): Arrival {
  const text = `GET /a?b=c HTTP/1.1\r\nHost: web.localhost\r\nUser-Agent: x\r\nAccept: */*\r\n${fields}\r\n`;
  const head = parseRequestHead(Buffer.from(text), { target: 8192, fields: 100 });
  if (typeof head !== 'object') throw new Error('the head is not one');
  const way = { trusted: false, secure: true };
  const request = { head, hasBody: false, upgrade: false, way, address: '127.0.0.1' };
  const tunnel = { tunnelId: ID, createdAt: NOW, account: ID };
  return { ...request, ...tunnel, prefix: '', link: undefined, now: NOW };
}
