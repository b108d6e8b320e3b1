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
import { runCases } from '../cases/requests.ts';
import { describeMachine } from '../machine.ts';
import { casesTables, figuresTable, machineText } from '../report.ts';
import { Samples } from '../stats.ts';
import { CLUSTER_FIGURES, type ClusterBench } from './case.ts';
import { databaseCase, redis } from './stores.ts';
import { hop } from './hop.ts';
import { relays } from './relays.ts';
import { tunnels } from './tunnels.ts';

const CASES = [hop, relays, tunnels, redis, databaseCase];
const RESULTS = fileURLToPath(new URL('../../../docs/contributing/benchmarks/cluster.md', import.meta.url));
const DATA = RESULTS.replace(/md$/, 'json');

/** The cases on the page. cluster.json has all. */
const SHOWN = ['keep-alive c16', 'new c16', 'download', 'at rest'];

const INTRODUCTION = `What it costs to run several relays as one, measured with \`npx node e2e/bench/cluster/bench.ts\`.
[Capacity](../../concepts/capacity.md) draws the conclusions.`;

const CASES_TEXT = `A, B and C are relays. "One relay": visitor, control and data sockets are on A. "Two relays, no hop": visitor and data sockets
on B, control socket on A. "Three relays, hop": visitor on B, control socket on A, data sockets on C, which passes them on to B.
These clients have no trunks, so each new visitor is announced.`;

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
  await runCases(CASES, options.only, bench);
} finally {
  await postgres.remove();
}
const text = `# Benchmarks of several relays

${INTRODUCTION}

${machineText(machine, bench.rounds, bench.seconds)}

## Targets

${figuresTable(bench.samples, CLUSTER_FIGURES)}

## Results

${CASES_TEXT}

${casesTables(bench.samples, SHOWN)}

[cluster.json](cluster.json) has the medians of every case.
`;
console.log(`${text}\n${casesTables(bench.samples)}`);
if (options.only === undefined) {
  const medians = [...bench.samples.entries()].map(([name]) => [name, bench.samples.median(name)] as const);
  const json = JSON.stringify({ machine, rounds: bench.rounds, medians: Object.fromEntries(medians) });
  writeFileSync(RESULTS, await format(text, { parser: 'markdown', printWidth: 110 }));
  writeFileSync(DATA, await format(json, { parser: 'json', printWidth: 110 }));
}
