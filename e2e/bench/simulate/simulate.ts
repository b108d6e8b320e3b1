/**
 * `npm run simulate [-- --relays N --tunnels N --requests N …]`: what a number of relays would need, as a Markdown table.
 * Without flags, the scenarios of docs/scaling.md. Flags have the names of {@link Scenario}'s fields in kebab-case.
 */
import { parseArgs } from 'node:util';
import { rounded, table } from '../report.ts';
import { type Demand, demand } from './demand.ts';
import { type Scenario, shareElsewhere } from './scenario.ts';

const MIB = 1024 ** 2;
const FLAGS = [
  'relays',
  'tunnels',
  'requests',
  'reconnects',
  'changes',
  'requests-per-connection',
  'busy-tunnels',
  'relays-per-busy-tunnel',
  'elsewhere',
  'hops',
] as const;

const { values } = parseArgs({
  options: Object.fromEntries(FLAGS.map((flag) => [flag, { type: 'string' as const }])),
});

/** Half of all tunnels reconnect in an hour, and as many are created or end; one in ten is in use. */
function usual(relays: number, tunnels: number, requests: number, requestsPerConnection = 10): Scenario {
  return {
    relays,
    tunnels,
    requests,
    reconnects: tunnels / 7200,
    changes: tunnels / 7200,
    requestsPerConnection,
    elsewhere: shareElsewhere(relays),
    hops: shareElsewhere(relays),
    busyTunnels: tunnels / 10,
    relaysPerBusyTunnel: 1,
  };
}

const MILLION = 1_000_000;

function scenarios(): Scenario[] {
  if (Object.keys(values).length === 0) {
    return [
      usual(3, 12_000, 12_000),
      usual(25, 100_000, 100_000),
      usual(250, MILLION, MILLION),
      usual(1500, MILLION, MILLION, 1),
    ];
  }
  const number = (flag: (typeof FLAGS)[number], otherwise: number): number => {
    const value = values[flag] === undefined ? otherwise : Number(values[flag]);
    if (Number.isFinite(value) && value >= 0) return value;
    throw new Error(`--${flag} takes a number from 0`);
  };
  const base = usual(Math.max(1, number('relays', 3)), number('tunnels', 30_000), number('requests', 30_000));
  return [
    {
      ...base,
      reconnects: number('reconnects', base.reconnects),
      changes: number('changes', base.changes),
      requestsPerConnection: Math.max(1, number('requests-per-connection', base.requestsPerConnection)),
      elsewhere: number('elsewhere', base.elsewhere),
      hops: number('hops', base.hops),
      busyTunnels: number('busy-tunnels', base.busyTunnels),
      relaysPerBusyTunnel: number('relays-per-busy-tunnel', base.relaysPerBusyTunnel),
    },
  ];
}

const ROWS: readonly (readonly [string, (scenario: Scenario, needed: Demand) => number])[] = [
  ['relays', ({ relays }) => relays],
  ['tunnels online', ({ tunnels }) => tunnels],
  ['requests/s', ({ requests }) => requests],
  ['Redis scripts/s', (_, { redis }) => redis.scriptsPerSecond],
  ['messages handed to relays/s', (_, { redis }) => redis.delivered],
  ['Redis MB/s in', (_, { redis }) => redis.bytesIn / 1e6],
  ['Redis MB/s out', (_, { redis }) => redis.bytesOut / 1e6],
  ['Redis cores (it has one)', (_, { redis }) => redis.load],
  ['Redis MiB', (_, { redis }) => redis.memory / MIB],
  ['Redis connections', (_, { redis }) => redis.connections],
  ['PostgreSQL transactions/s', (_, { database }) => database.transactions],
  ['PostgreSQL rows written/s', (_, { database }) => database.rows],
  ['PostgreSQL connections, at most', (_, { database }) => database.connections],
  ['cores of all relays', (_, { relay }) => relay.cores],
  ['cores of each relay (it uses one)', ({ relays }, { relay }) => relay.cores / relays],
  ['MiB for tunnels, each relay', (_, { relay }) => relay.memory / MIB],
];

const columns = scenarios().map((scenario) => ({ scenario, needed: demand(scenario) }));
const head = ['', ...columns.map((_, index) => String.fromCodePoint(65 + index))];
const rows = ROWS.map(([name, of]) => [
  name,
  ...columns.map(({ scenario, needed }) => rounded(of(scenario, needed))),
]);
console.log(table([head, ...rows]));
