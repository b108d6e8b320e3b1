/**
 * `npm run bench [-- --rounds N --seconds N --only CASE --peers a,b]`: compares Culvert with its peers on this machine
 * and reports which target figures it reaches. A whole run (no `--only`, no `--peers`) writes its results to
 * `docs/contributing/benchmarks/`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format } from 'prettier';
import { firstByte } from './cases/first-byte.ts';
import { manyTunnels } from './cases/many-tunnels.ts';
import { type Bench, http2, requests, responses } from './cases/requests.ts';
import { besideDownload, slowReaders, transfers } from './cases/transfers.ts';
import { workers } from './cases/workers.ts';
import { Scope } from '../support/scope.ts';
import { describeMachine, install, type Machine } from './machine.ts';
import { culvert, direct, floor, nginx, ssh } from './peers.ts';
import { plot, resultsPage } from './report.ts';
import { median, Samples } from './stats.ts';

const CASES = [
  firstByte,
  slowReaders,
  transfers,
  besideDownload,
  requests,
  responses,
  http2,
  manyTunnels,
  workers,
];
const PEERS = [direct, nginx, ssh, floor, culvert];
const RESULTS = fileURLToPath(new URL('../../docs/contributing/benchmarks/', import.meta.url));

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string' },
    peers: { type: 'string' },
  },
});
const wanted = options.peers?.split(',');
const bench: Bench = {
  rounds: Number(options.rounds),
  seconds: Number(options.seconds),
  peers: PEERS.filter(({ name }) => wanted?.includes(name) ?? true),
  samples: new Samples(),
  log: (text) => console.error(text),
};
for (const name of wanted ?? []) {
  if (!PEERS.some((peer) => peer.name === name)) throw new Error(`no peer ${name}`);
}
install('curl', 'wrk', 'nghttp2-client', 'nginx', 'openssh-server', 'openssh-client', 'openssl');
const machine = describeMachine();
const cases = CASES.filter(({ name }) => options.only === undefined || name === options.only);
if (cases.length === 0) throw new Error(`no case ${options.only}`);
for (const each of cases) {
  const scope = new Scope();
  try {
    await each.run(scope, bench);
  } finally {
    await scope.end();
  }
}
console.log(resultsPage(bench.samples, machine, bench));
console.table(
  Object.fromEntries([...bench.samples.entries()].map(([name, values]) => [name, median(values)])),
);
if (options.only === undefined && wanted === undefined) await write(bench, machine);

async function write({ samples, rounds, seconds, peers }: Bench, measuredOn: Machine): Promise<void> {
  mkdirSync(RESULTS, { recursive: true });
  const json = JSON.stringify({
    machine: measuredOn,
    rounds,
    samples: Object.fromEntries(samples.entries()),
  });
  const markdown = resultsPage(samples, measuredOn, { rounds, seconds, peers });
  writeFileSync(`${RESULTS}results.json`, await format(json, { parser: 'json', printWidth: 110 }));
  writeFileSync(`${RESULTS}README.md`, await format(markdown, { parser: 'markdown', printWidth: 110 }));
  writeFileSync(`${RESULTS}results.svg`, plot(samples));
}
