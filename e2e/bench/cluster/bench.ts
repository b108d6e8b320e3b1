/**
 * `npx node e2e/bench/cluster/bench.ts [-- --rounds N --seconds N --tunnels N --only CASE]`: the cost of running
 * several relays as one, on a dedicated PostgreSQL and Redis. A whole run (no `--only`) writes
 * `docs/contributing/benchmarks/cluster.md`.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format } from 'prettier';
import { PostgresServer } from '../../support/postgres.ts';
import { Scope } from '../../support/scope.ts';
import { describeMachine } from '../machine.ts';
import { casesTables, figuresTable, machineText } from '../report.ts';
import { Samples } from '../stats.ts';
import { CLUSTER_FIGURES, type ClusterBench } from './case.ts';
import { databaseCase } from './database.ts';
import { hop } from './hop.ts';
import { redis } from './redis.ts';
import { relays } from './relays.ts';
import { tunnels } from './tunnels.ts';

const CASES = [hop, relays, tunnels, redis, databaseCase];
const RESULTS = fileURLToPath(new URL('../../../docs/contributing/benchmarks/cluster.md', import.meta.url));

const INTRODUCTION = `A, B and C are relays. "One relay": visitor, control and data sockets are on A. "Two relays, no hop": visitor and data sockets on
B, control socket on A. "Three relays, hop": visitor on B, control socket on A, data sockets on C, which passes them on to B. There
are no trunks in these, so that all announce each new visitor. "Visitors on all": the client, \`culvert\`, is on the
first relay, with trunks. [scaling.md](../scaling.md) explains the rest.`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    tunnels: { type: 'string', default: '6000' },
    only: { type: 'string' },
  },
});
const machine = describeMachine();
const postgres = await PostgresServer.start();
const bench: ClusterBench = {
  rounds: Number(options.rounds),
  seconds: Number(options.seconds),
  tunnels: Number(options.tunnels),
  postgres,
  samples: new Samples(),
  log: (text) => console.error(text),
};
try {
  for (const each of CASES) {
    if (options.only !== undefined && options.only !== each.name) continue;
    const scope = new Scope();
    try {
      await each.run(scope, bench);
    } finally {
      await scope.end();
    }
  }
} finally {
  await postgres.remove();
}
const text = `# Several relays as one: results

${machineText(machine, bench.rounds, bench.seconds)}

${INTRODUCTION}

## Figures to reach

${figuresTable(bench.samples, CLUSTER_FIGURES)}

## All medians

${casesTables(bench.samples)}
`;
console.log(text);
if (options.only === undefined)
  writeFileSync(RESULTS, await format(text, { parser: 'markdown', printWidth: 110 }));
