/**
 * What `CULVERT_WORKERS` costs and gives: CPU time of each process of a relay for a fixed amount of work, and what it
 * costs when visitors or the client's trunk arrive at another process than the client's control socket.
 */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Authority } from '../../support/certificates.ts';
import { type Child, startProgram } from '../../support/child.ts';
import { eventually } from '../../support/deadline.ts';
import { memoryOf } from '../../support/memory.ts';
import { connectionsOf, cpuSeconds, familyOf, workersOf, writesOf } from '../../support/processes.ts';
import { Culvert, RelayProgram } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { closedPorts } from '../../support/services/listen.ts';
import { tlsSettings } from '../peers.ts';
import type { Load, Result } from '../programs/visitors.ts';
import { rotated, Samples } from '../stats.ts';
import type { Bench, Case } from './requests.ts';
import { startTransferService } from './transfers.ts';

const VISITORS = fileURLToPath(new URL('../programs/visitors.ts', import.meta.url));
const COUNTS = [1, 2, 3];
const MIB = 1024 ** 2;
/** ms that the work may take. */
const WORK_MS = 120_000;

interface Work extends Pick<Load, 'kind' | 'connections' | 'count' | 'bytes'> {
  readonly name: string;
  /** `tcp`: through a TCP tunnel, without TLS */
  readonly tunnel?: 'tcp';
  /** what the figures are for: a request, a connection, a message, a MiB */
  readonly unit: string;
}

const small = { bytes: 29, count: 6000, connections: 16 };
/** Large ones stay on the trunk up to 8 MiB. */
const bodies = { bytes: 4 * MIB, count: 40, connections: 4, unit: 'MiB' };
const requests: Work = { name: 'requests', kind: 'requests', ...small, unit: 'request' };
const http2: Work = { name: 'requests, HTTP/2', kind: 'http2', ...small, connections: 4, unit: 'request' };
const downloads: Work = { name: 'downloads', kind: 'requests', ...bodies };
const uploads: Work = { name: 'uploads', kind: 'uploads', ...bodies };
const messages: Work = { name: 'messages', kind: 'messages', ...small, bytes: 100, unit: 'message' };
const WORKS: readonly Work[] = [
  requests,
  { name: 'new connections', kind: 'new', bytes: 29, count: 400, connections: 8, unit: 'connection' },
  http2,
  downloads,
  uploads,
  messages,
  { ...requests, name: 'requests, TCP tunnel', tunnel: 'tcp' },
  { ...downloads, name: 'downloads, TCP tunnel', tunnel: 'tcp' },
];

/** Where the visitors and the client's trunk arrive: at the process with its control socket, or another one. */
const PLACES = {
  'no hop': { visitorIsElsewhere: false, trunkIsElsewhere: false },
  "visitor's hop": { visitorIsElsewhere: true, trunkIsElsewhere: false },
  "trunk's hop": { visitorIsElsewhere: false, trunkIsElsewhere: true },
  'both hops': { visitorIsElsewhere: true, trunkIsElsewhere: true },
} as const;

export const workers: Case = {
  name: 'workers',
  async run(scope, bench) {
    const servicePort = await startTransferService(scope);
    const authority = new Authority(scope);
    await measureCounts(scope, bench, authority, servicePort);
    await measureHops(scope, bench, authority, servicePort);
  },
};

/** A relay with TLS, and clients of its tunnels. */
class Subject {
  readonly relay: RelayProgram;
  readonly #trust: Readonly<Record<string, string>>;
  readonly #servicePort: number;

  private constructor(relay: RelayProgram, authority: Authority, servicePort: number) {
    this.relay = relay;
    this.#trust = { CULVERT_CA: authority.path };
    this.#servicePort = servicePort;
  }

  static async start(
    scope: Scope,
    authority: Authority,
    servicePort: number,
    settings: Readonly<Record<string, string>>,
  ): Promise<Subject> {
    const relay = await RelayProgram.start(scope, {
      ...tlsSettings(authority),
      CULVERT_TCP_PORTS: await closedPorts(8),
      CULVERT_ADDRESS_CONNECTIONS: '0',
      ...settings,
    });
    // The tunnels of a round are held for a while after it.
    await relay.administer('account', 'set-plan', '--name', 'default', '--plan', 'team');
    return new Subject(relay, authority, servicePort);
  }

  /** The processes that serve; all but the first one, if there are several. */
  get workers(): readonly number[] {
    const { pid } = this.relay.child;
    const others = workersOf(pid);
    return others.length === 0 ? [pid] : others;
  }

  async openTunnel(protocol: 'http' | 'tcp', scope: Scope): Promise<Culvert> {
    const { relay } = this;
    const words = [protocol, String(this.#servicePort)];
    return await Culvert.run(scope, relay, relay.bootstrapKey, words, this.#trust);
  }

  /**
   * Visitors who are connected, and have done the same work before: a new client, and code that was last used otherwise,
   * take up to three times the CPU for some thousand requests, until Node has compiled it.
   *
   * @param at see {@link Load.at}
   */
  async visitors(scope: Scope, work: Work, { tunnel }: Culvert, at?: number): Promise<Child> {
    const { kind, connections, count, bytes } = work;
    const { protocol, hostname, port } = new URL(tunnel.public_url);
    const address = { host: hostname, port: Number(port), secure: protocol === 'https:' };
    const load: Load = { ...address, kind, connections, count, warmUp: count, bytes, at };
    const visitors = startProgram(scope, process.execPath, [VISITORS, JSON.stringify(load)]);
    await visitors.printed(/^ready$/m, WORK_MS);
    return visitors;
  }

  /** Adds CPU time of all processes for each unit, and the latency. @param at see {@link Load.at} */
  async measure({ samples }: Bench, name: string, work: Work, culvert: Culvert, at?: number): Promise<void> {
    const { count, bytes, unit } = work;
    const scope = new Scope();
    try {
      const visitors = await this.visitors(scope, work, culvert, at);
      const pids = [...new Set([this.relay.child.pid, ...this.workers])];
      const before = pids.map((pid) => cpuSeconds([pid]));
      const writesBefore = writesOf(pids);
      visitors.kill('SIGUSR2');
      const { p50 } = JSON.parse((await visitors.printed(/^\{.*\}$/m, WORK_MS))[0]) as Result;
      const used = pids.map((pid, index) => cpuSeconds([pid]) - (before[index] ?? 0));
      const writes = writesOf(pids) - writesBefore;
      const total = used.reduce((sum, seconds) => sum + seconds, 0);
      const units = unit === 'MiB' ? (count * bytes) / MIB : count;
      const served = pids.length > 1 ? used.slice(1) : used;
      samples.add(`${name}/µs/${unit}`, (total / units) * 1e6);
      if (pids.length > 1) samples.add(`${name}/µs/${unit} first process`, ((used[0] ?? 0) / units) * 1e6);
      samples.add(`${name}/writes/${unit}`, writes / units);
      samples.add(`${name}/share of the busiest`, Math.max(...served) / total);
      samples.add(`${name}/ms at the median`, p50);
    } finally {
      await scope.end();
    }
  }
}

async function measureCounts(
  scope: Scope,
  bench: Bench,
  authority: Authority,
  servicePort: number,
): Promise<void> {
  const subjects: { name: string; count: number; subject: Subject }[] = [];
  for (const count of COUNTS) {
    const subject = await Subject.start(scope, authority, servicePort, { CULVERT_WORKERS: String(count) });
    const name = `${count} ${count === 1 ? 'process' : 'processes'}`;
    const first = subject.relay.child.pid;
    bench.samples.add(`start/${name}/CPU s`, cpuSeconds(familyOf(first)));
    const addMemory = (when: string): void => {
      if (count > 1)
        bench.samples.add(`${when}/${name}/RSS MiB of the first`, memoryOf(first).resident / MIB);
      for (const pid of subject.workers)
        bench.samples.add(`${when}/${name}/RSS MiB`, memoryOf(pid).resident / MIB);
    };
    addMemory('idle');
    const inside = new Scope();
    const culvert = await subject.openTunnel('http', inside);
    await subject.visitors(inside, { ...requests, connections: 1000, count: 0 }, culvert);
    addMemory('1,000 visitors');
    await inside.end();
    subjects.push({ name, count, subject });
  }
  // Other clients in each round: where their connections arrive decides much.
  await inRounds('workers', bench, async (counted, round, inside) => {
    const ready = [];
    for (const each of rotated(subjects, round)) {
      const http = await each.subject.openTunnel('http', inside);
      ready.push({ ...each, tunnels: { http, tcp: await each.subject.openTunnel('tcp', inside) } });
    }
    for (const work of WORKS) {
      for (const { name, count, subject, tunnels } of ready) {
        // Each process has as much to do at a time: fewer visitors share fewer writes, with one process as well.
        const connections = work.connections * count;
        const culvert = tunnels[work.tunnel ?? 'http'];
        await subject.measure(counted, `${work.name}/${name}`, { ...work, connections }, culvert);
      }
    }
  });
}

/** One more round before them warms up Node's compiler, without being counted. */
async function inRounds(
  name: string,
  bench: Bench,
  measure: (bench: Bench, round: number, inside: Scope) => Promise<void>,
): Promise<void> {
  for (let round = 0; round <= bench.rounds; round += 1) {
    const inside = new Scope();
    try {
      await measure(round === 0 ? { ...bench, samples: new Samples() } : bench, round, inside);
    } finally {
      await inside.end();
    }
    bench.log(`${name}: round ${round} of ${bench.rounds}`);
  }
}

/** One trunk a tunnel, so that it is at one place, also for the relay of one process that they are compared with. */
async function measureHops(
  scope: Scope,
  bench: Bench,
  authority: Authority,
  servicePort: number,
): Promise<void> {
  const start = async (count: string): Promise<Subject> =>
    await Subject.start(scope, authority, servicePort, { CULVERT_WORKERS: count, CULVERT_TRUNKS: '1' });
  const [alone, pair] = [await start('1'), await start('2')];
  await inRounds('workers, hops', bench, async (counted, round, inside) => {
    for (const [name, place] of rotated(Object.entries({ alone: undefined, ...PLACES }), round)) {
      const subject = place === undefined ? alone : pair;
      const { culvert, visitorsAt } =
        place === undefined
          ? { culvert: await alone.openTunnel('http', inside), visitorsAt: undefined }
          : await placed(inside, pair, place);
      for (const work of [requests, http2, downloads, uploads, messages])
        await subject.measure(counted, `${work.name}/${name}`, work, culvert, visitorsAt);
    }
  });
}

interface Place {
  readonly visitorIsElsewhere: boolean;
  readonly trunkIsElsewhere: boolean;
}

/** Starts clients until the kernel has distributed the connections of one as wanted. */
async function placed(
  scope: Scope,
  subject: Subject,
  { visitorIsElsewhere, trunkIsElsewhere }: Place,
): Promise<{ culvert: Culvert; visitorsAt: number | undefined }> {
  const { workers: pids, relay } = subject;
  for (;;) {
    const culvert = await subject.openTunnel('http', scope);
    const connections = (): number[] =>
      connectionsOf(culvert.child.pid)
        .filter(({ peerPort }) => peerPort === relay.port)
        .map(({ port }) => port);
    const [control, early] = connections();
    // If the trunk is there already, nothing tells the two apart.
    if (early === undefined) {
      const trunk = await eventually(20_000, () => {
        const [other] = connections().filter((port) => port !== control);
        assert.ok(other !== undefined);
        return other;
      });
      const [controlAt, trunkAt] = [control, trunk].map((port) =>
        pids.find((pid) => connectionsOf(pid).some(({ peerPort }) => peerPort === port)),
      );
      const visitorsAt = visitorIsElsewhere ? pids.find((pid) => pid !== controlAt) : controlAt;
      if ((trunkAt !== controlAt) === trunkIsElsewhere) return { culvert, visitorsAt };
    }
    await culvert.child.stop();
  }
}
