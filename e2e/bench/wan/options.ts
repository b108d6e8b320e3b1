/** What `npm run bench:wan` measures, and how its arguments choose from that. */
import { parseArgs } from 'node:util';

/** What packets meet on the two links, as arguments for wanlink: towards the second end, and back. */
export interface Profile {
  /** description for readers of the results */
  readonly title: string;
  /** from the visitor to the relay */
  readonly visitor: readonly [string, string];
  /** from the relay to the client */
  readonly client: readonly [string, string];
  /** the only tests that are measured with it; all by default */
  readonly tests?: readonly string[];
}

const HOME = ['delay=15,rate=100,queue=384,loss=0.1', 'delay=15,rate=20,queue=256,loss=0.1'] as const;
const FAR = ['delay=50,rate=50,queue=640,loss=0.5', 'delay=50,rate=50,queue=640,loss=0.5'] as const;
const NEAR_VISITOR = 'delay=20,rate=100,queue=512';
const LOSSY = 'delay=20,rate=100,queue=1000,loss=1';
const MOBILE_VISITOR = 'delay=40,jitter=10,rate=20,queue=256,loss=1';

export const PROFILES: Readonly<Record<string, Profile>> = {
  home: {
    title:
      'visitor 40 ms from the relay, 100 Mbit/s; client 30 ms, 20 Mbit/s up, 100 down, 0.1 % loss each way',
    visitor: [NEAR_VISITOR, NEAR_VISITOR],
    client: HOME,
  },
  far: {
    title: 'visitor and client each 100 ms from the relay, 50 Mbit/s, 0.5 % loss each way',
    visitor: FAR,
    client: FAR,
  },
  mobile: {
    title: 'visitor 80 ms ± 20 from the relay, 20 Mbit/s, 1 % loss each way; client as in home',
    visitor: [MOBILE_VISITOR, MOBILE_VISITOR],
    client: HOME,
  },
  lossy: {
    title: 'visitor 40 ms from the relay, 100 Mbit/s; client 40 ms, 100 Mbit/s, 1 % loss each way',
    visitor: [NEAR_VISITOR, NEAR_VISITOR],
    client: [LOSSY, LOSSY],
    tests: ['visitors'],
  },
};

/** The measures of each test, as the rows of the results name them. Whether more is better follows from the unit. */
export const TESTS: Readonly<Record<string, readonly string[]>> = {
  page: ['page of 300 modules, s', 'reload of the page, s'],
  requests: ['the requests of the page without a browser, s'],
  'first-byte': ['first byte, new connection, ms', 'first byte, kept connection, ms'],
  sizes: [100, 300, 400, 1000].map((kilobytes) => `${kilobytes} kB, kept connection, ms`),
  download: ['20 MB down, MB/s'],
  upload: ['20 MB up, MB/s'],
  downloads: ['4 downloads together, MB/s'],
  visitors: ['128 visitors together, 100 kB each, MB/s', '128 visitors together, 1 MB each, MB/s'],
  beside: [
    'small request beside a download, p50 ms',
    'small request beside a download, p99 ms',
    'the download, MB/s',
  ],
  websocket: [
    'WebSocket echo, p50 ms',
    'WebSocket echo beside a download, p50 ms',
    'WebSocket echo beside a download, p99 ms',
  ],
  sse: ['SSE, p50 ms', 'SSE beside a download, p50 ms', 'SSE beside a download, p99 ms'],
  text: ['page with 3 MB of text, s'],
  'cut-20': ['200 again after a cut of 20 s, s'],
  'cut-60': ['200 again after a cut of 60 s, s'],
  move: ['200 again after a new address of the client, s'],
};

export interface Options {
  readonly rounds: number;
  readonly profiles: readonly string[];
  readonly tests: readonly string[];
  /** whether nothing was left out, so that the results may be published */
  readonly isWhole: boolean;
}

const SHORT = { rounds: 1, profile: ['home'], only: ['requests', 'first-byte'] };
const ROUNDS_MAX = 20;

/**
 * Reads `--rounds N`, `--profile NAME`, `--only TEST` (both repeatable) and `--short`, which the others override.
 *
 * @throws Error that names the argument and what is accepted
 */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      profile: { type: 'string', multiple: true },
      only: { type: 'string', multiple: true },
      short: { type: 'boolean', default: false },
    },
  });
  const defaults = values.short
    ? SHORT
    : { rounds: 3, profile: Object.keys(PROFILES), only: Object.keys(TESTS) };
  const rounds = Number(values.rounds ?? defaults.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX) {
    throw new Error(`--rounds must be a whole number from 1 to ${ROUNDS_MAX}, not ${values.rounds}.`);
  }
  return {
    rounds,
    profiles: chosen('profile', values.profile ?? defaults.profile, PROFILES),
    tests: chosen('only', values.only ?? defaults.only, TESTS),
    isWhole: !values.short && values.profile === undefined && values.only === undefined,
  };
}

/** The chosen tests that are measured with a profile. */
export function testsOf({ tests }: Pick<Options, 'tests'>, profile: string): string[] {
  const only = PROFILES[profile]?.tests;
  return tests.filter((test) => only?.includes(test) ?? true);
}

/** The chosen names, in the order of the table. */
function chosen(
  option: string,
  names: readonly string[],
  table: Readonly<Record<string, unknown>>,
): string[] {
  const all = Object.keys(table);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new Error(`--${option} must be one of ${all.join(', ')}, not ${unknown}.`);
  }
  return all.filter((name) => names.includes(name));
}
