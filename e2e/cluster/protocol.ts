/**
 * Runs the protocol suites through a proxy: `node e2e/cluster/protocol.ts stream|http|h2 [SUITE...]`, where a suite is a
 * file of e2e/protocol without `.test.ts`. `stream` and `http`: on three relays behind nginx. `h2`: on one relay, whose
 * visitors arrive over HTTP/2. Mocha loads this file with `--require`: there it replaces the relay of every suite, and
 * removes the tests that cannot pass.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context, RootHookObject, Suite } from 'mocha';
import { startBalancer } from '../support/native-server.ts';
import { replaceRelay } from '../support/programs.ts';
import { startBalanced, startBehindHttp2, startStreamBalancer } from './proxied-relays.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENDING = '.test.ts';
/** Tells mocha's processes which proxy it is. */
const VARIABLE = 'TEST_PROXY';

/* The parts of the protocol suites that cannot be tested through a proxy, and why. */

/** One entry of the list. */
interface Exception {
  /** of e2e/protocol, without `.test.ts` */
  readonly suite: string;
  /** parts of the titles of its tests; without any, all tests of the suite */
  readonly titles?: readonly string[];
  readonly reason: string;
}

const ONE_PROCESS = 'about one process: its output, its exit codes, its memory';
const NO_RESETS = 'nginx ends a broken connection like one that has ended in order';
const NO_TRAILERS = 'nginx does not pass trailers on, and chunks as it likes';
const OWN_HEADS = 'nginx writes heads of its own';
const OWN_ANSWERS = 'nginx responds to malformed requests itself';
const LOWER_CASE = 'names of fields are in lower case over HTTP/2';
const ONLY_CONTINUE = 'of informational responses, the proxy passes only 100 on';
const ONE_ZERO = 'the proxy passes HTTP/1.0 on as HTTP/2';
const LAST_RELAY =
  'when all relays are told to stop at once, none is left to hand over to; e2e/cluster/rolling.test.ts';

/** Fails both through nginx that forwards bytes and through nginx that speaks HTTP. */
const ALWAYS: readonly Exception[] = [
  { suite: 'log', reason: ONE_PROCESS },
  { suite: 'relay-program', reason: ONE_PROCESS },
  { suite: 'large-bodies', reason: ONE_PROCESS },
  { suite: 'metrics', reason: 'each relay counts for itself' },
  { suite: 'sign-in', reason: `${ONE_PROCESS}; e2e/cluster/sign-in.test.ts` },
  {
    suite: 'oauth',
    reason: 'each relay counts for itself, and learns of changes within a second; e2e/cluster/agents.test.ts',
  },
  { suite: 'connection-limit', reason: 'each relay has its own limit' },
  { suite: 'address-limits', reason: "the addresses are nginx's" },
  {
    suite: 'openapi',
    titles: ['too many wrong keys', 'describes nothing that'],
    reason: 'each relay counts for itself',
  },
  { suite: 'plans', titles: ['limit open connections of a tunnel'], reason: 'each relay has its own limit' },
  { suite: 'client-time-limits', titles: ['are probed'], reason: "the connections are nginx's" },
  { suite: 'shutdown', reason: LAST_RELAY },
  {
    suite: 'control',
    titles: ['is told in advance'],
    reason:
      'one of several relays gives its clients 5 s to move before it closes their sockets; e2e/cluster/drain.test.ts',
  },
  {
    suite: 'raw',
    reason: 'nginx passes on neither the ports of tunnels nor TLS; e2e/cluster/raw.test.ts',
  },
  { suite: 'culvert-raw', reason: 'nginx does not pass on the ports of tunnels' },
  { suite: 'trunk', reason: NO_RESETS },
  { suite: 'trunk-large', reason: NO_RESETS },
];

const EXCEPTIONS: Readonly<Record<'stream' | 'http' | 'h2', readonly Exception[]>> = {
  stream: [
    ...ALWAYS,
    {
      suite: 'data',
      titles: ['is closed when the visitor goes away', 'breaks the response it was carrying'],
      reason: NO_RESETS,
    },
    {
      suite: 'endings',
      titles: ['is broken when the service resets it', 'ends the local connection, before a response'],
      reason: NO_RESETS,
    },
    { suite: 'tls', titles: ['a response that breaks off is a reset'], reason: NO_RESETS },
    { suite: 'messages', titles: ['sees a chunked response that breaks off as broken'], reason: NO_RESETS },
  ],
  http: [
    ...ALWAYS,
    { suite: 'main-job', titles: ['chunked responses pass, with trailers'], reason: NO_TRAILERS },
    {
      suite: 'forwarding',
      titles: ['a body with its length, or chunked with its trailers', 'chunks and trailers'],
      reason: NO_TRAILERS,
    },
    {
      suite: 'forwarding',
      titles: ['no hop-by-hop fields', 'no offer to upgrade', 'status, reason, names in their case'],
      reason: OWN_HEADS,
    },
    {
      suite: 'path-form',
      titles: ['include rewritten informational responses'],
      reason:
        'nginx is sent no interim responses, because it takes them for final ones; e2e/deploy/strangers.test.ts',
    },
    {
      suite: 'addresses',
      titles: [
        'an HTTP/1.0 request without Host',
        'an HTTP/1.0 request reaches the path form only with a Host',
      ],
      reason: OWN_HEADS,
    },
    { suite: 'rest', titles: ['writes no stack, path or version into an error'], reason: OWN_ANSWERS },
  ],
  h2: [
    { suite: 'main-job', titles: ['chunked responses pass, with trailers'], reason: LOWER_CASE },
    {
      suite: 'forwarding',
      titles: [
        'names in their case and order',
        'status, reason, names in their case',
        'a body with its length, or chunked with its trailers',
        'chunks and trailers',
      ],
      reason: LOWER_CASE,
    },
    {
      suite: 'forwarding',
      titles: ['X-Forwarded-For, -Host and -Proto set', 'own replaced, in any case and number'],
      reason: 'the relay is reached with TLS',
    },
    { suite: 'local-service', titles: ['own Origin and Referer'], reason: 'the relay is reached with TLS' },
    { suite: 'sign-in', reason: 'the relay is reached with TLS' },
    {
      suite: 'forwarding',
      titles: ['no hop-by-hop fields'],
      reason: 'the proxy takes no fields off that are named by Connection',
    },
    {
      suite: 'access',
      titles: [
        'removes fields that override Cache-Control',
        'only the answer to a preflight without credentials',
      ],
      reason: LOWER_CASE,
    },
    {
      suite: 'addresses',
      titles: ['an HTTP/1.0 request', 'to an HTTP/1.0 request without Host'],
      reason: ONE_ZERO,
    },
    { suite: 'compression', titles: ['sends other visitors the text'], reason: ONE_ZERO },
    {
      suite: 'compression',
      titles: ['keeps informational responses and trailers'],
      reason: ONLY_CONTINUE,
    },
    { suite: 'path-form', titles: ['include rewritten informational responses'], reason: ONLY_CONTINUE },
    {
      suite: 'path-form',
      titles: ['%0d%0a'],
      reason: "Node's http2 refuses a path with such characters, and the relay responds with 400",
    },
  ],
};

/** Suites about HTTP that are not affected by a proxy which writes its own headers. */
const HTTP_SUITES: readonly string[] = [
  'addresses',
  'create',
  'forwarding',
  'isolation',
  'lifetime',
  'local-service',
  'main-job',
  'path-form',
  'rest',
  'tunnels',
];

/** Those that run over HTTP/2. */
const HTTP2_SUITES: readonly string[] = [...HTTP_SUITES, 'access', 'compression', 'links'];

const [argument, ...wanted] = import.meta.main ? process.argv.slice(2) : [process.env[VARIABLE]];
if (argument !== 'stream' && argument !== 'http' && argument !== 'h2') {
  console.error('usage: node e2e/cluster/protocol.ts stream|http|h2 [SUITE...]');
  process.exit(2);
}
const kind = argument;

/** Removed tests count neither as passed nor as skipped. */
export const mochaHooks: RootHookObject = {
  beforeAll(this: Context) {
    const root = this.test?.parent;
    if (root !== undefined) prune(root, EXCEPTIONS[kind]);
  },
};

function prune(suite: Suite, exceptions: readonly Exception[]): void {
  suite.tests = suite.tests.filter(({ file = '', title }) => {
    const name = basename(file, '.test.ts');
    return !exceptions.some(
      (entry) => entry.suite === name && entry.titles?.some((part) => title.includes(part)),
    );
  });
  for (const inner of suite.suites) prune(inner, exceptions);
}

function run(): number {
  const there = readdirSync(`${ROOT}e2e/protocol`)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length));
  const left = new Set(
    EXCEPTIONS[kind].filter(({ titles }) => titles === undefined).map(({ suite }) => suite),
  );
  const known = { stream: there, http: HTTP_SUITES, h2: HTTP2_SUITES };
  const suites = wanted.length > 0 ? wanted : known[kind].filter((s) => !left.has(s));

  console.log(`${suites.length} protocol suites through a proxy (${kind}); left out:`);
  for (const { suite, titles = ['everything'], reason } of EXCEPTIONS[kind])
    console.log(`  ${suite}: ${titles.join('; ')}: ${reason}`);

  // Three, because many tests wait more than they work. Each file has its own process, so that suites do not affect each
  // other.
  const flags = ['--parallel', '--jobs', '3'];
  const hooks = kind === 'h2' ? ['protocol'] : ['on-postgres', 'protocol'];
  const requires = hooks.flatMap((file) => ['--require', `./e2e/cluster/${file}.ts`]);
  const files = suites.map((suite) => `e2e/protocol/${suite}${ENDING}`);
  const mocha = ['node_modules/mocha/bin/mocha.js', ...flags, ...requires, ...files];
  const env = { ...process.env, [VARIABLE]: kind };
  const { status } = spawnSync(process.execPath, mocha, { cwd: ROOT, env, stdio: 'inherit' });
  return status ?? 1;
}

if (import.meta.main) process.exit(run());
const balancer = kind === 'http' ? startBalancer : startStreamBalancer;
replaceRelay(kind === 'h2' ? startBehindHttp2 : startBalanced.bind(undefined, balancer));
