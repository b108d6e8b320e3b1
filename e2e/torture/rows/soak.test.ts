/** Half an hour of ordinary work, with continuous faults. */
import { setTimeout as delay } from 'node:timers/promises';
import { openRelayDatabase } from '../../support/database.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { metricsOf, WITH_METRICS } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { torture } from '../torture.ts';
import { type Behaviour, Crowd, loopbackAddresses } from '../tools/crowd.ts';
import { Forked, type Latencies, type Measurement } from '../tools/forked.ts';
import { HeapReport, ProcessWatch } from '../tools/measure.ts';
import { startTenant, type Tenant } from '../tools/tenants.ts';

/** Each slot begins with one fault. Programs are measured when its effects are gone. */
const SLOT_MS = 20_000;
const SLOTS = 90;
const LOAD = 0.3;
/** ms to warm up and determine the full load. */
const CAPACITY_MS = 4000;
const ANSWER_MS = 60_000;
const LONG = Buffer.alloc(500_000, 'x');
/** More than uncollected garbage amounts to. If this much leaked, each request would leave about 20 bytes. */
const RESIDENT_PERCENT = 10;
/** Code that is compiled later takes 0.2 to 0.6 MiB. */
const LIVE_MEBIBYTES = 2;
/** Connections in flight when a program was measured. */
const DESCRIPTORS = 5;

type Figure = 'resident' | 'live' | 'descriptors' | 'unhandled' | 'delay';

torture<Figure>({
  name: 'soak',
  onlyWhole: true,
  title: `The relay and the client run for ${(SLOTS * SLOT_MS) / 60_000} minutes at ${LOAD * 100} % of the maximum load, with a fault every ${SLOT_MS / 1000} s`,
  thresholds: {
    resident: {
      meaning: 'memory growth of the relay or the client in the last two thirds of the run, %',
      atMost: RESIDENT_PERCENT,
    },
    live: {
      meaning:
        'growth of the memory in use after a garbage collection in the last two thirds of the run, MiB',
      atMost: LIVE_MEBIBYTES,
    },
    descriptors: {
      meaning: 'growth in file descriptors in the last two thirds of the run',
      atMost: DESCRIPTORS,
    },
    unhandled: { meaning: 'unhandled errors and crashes', atMost: 0 },
    delay: { meaning: "the relay's event-loop delay, p99, ms", atMost: 50 },
  },

  async run({ scope, say }) {
    const reports = [new HeapReport(scope), new HeapReport(scope)] as const;
    const relay = await Relay.start(scope, { ...WITH_METRICS, ...reports[0].environment });
    const service = await startHttpService(scope, (request, response) => {
      response.end(request.url === '/long' ? LONG : 'ok');
    });
    const network = await FaultProxy.start(scope, relay.port);
    const tenant = await startTenant(scope, relay, service.port, {
      by: network,
      environment: reports[1].environment,
    });
    const visitors = new Forked(scope);
    const measure = (perSecond: Measurement['perSecond'], ms: number): Promise<Latencies> =>
      visitors.tell('measure', { port: relay.port, host: tenant.host, perSecond, ms }, ms + ANSWER_MS);
    const { requests: capacity } = await measure('most', CAPACITY_MS);
    const perSecond = (LOAD * capacity * 1000) / CAPACITY_MS;
    say(`${perSecond.toFixed()} requests a second`);

    const watches = [
      new ProcessWatch('relay', relay.child, reports[0]),
      new ProcessWatch('client', tenant.culvert.child, reports[1]),
    ];
    // Each scrape starts a new p99.
    await eventLoopDelay(relay);
    const faults = Object.entries(SOAK_FAULTS);
    let [requests, failed] = [0, 0];
    for (let slot = 1; slot <= SLOTS; slot += 1) {
      const [name, fault] = faults[(slot - 1) % faults.length] ?? faults[0] ?? [];
      const load = measure(perSecond, SLOT_MS);
      await fault?.({ relay, network, service, tenant });
      const latencies = await load;
      requests += latencies.requests;
      failed += latencies.failed;
      // Requests in flight when the load ended.
      await delay(100);
      for (const watch of watches) watch.look();
      if (slot === SLOTS / 3 || slot === SLOTS) for (const watch of watches) await watch.lookAtHeap();
      say(
        `${name}: ${latencies.failed} of ${latencies.requests} failed; ${watches.map(({ summary }) => summary).join('; ')}`,
      );
    }
    const unhandled = watches.flatMap((watch) => watch.unhandled);
    return {
      figures: {
        resident: Math.max(...watches.map(({ residentGrowth }) => residentGrowth)),
        live: Math.max(...watches.map(({ liveGrowth }) => liveGrowth)),
        descriptors: Math.max(...watches.map(({ descriptorGrowth }) => descriptorGrowth)),
        unhandled: unhandled.length,
        delay: await eventLoopDelay(relay),
      },
      faults: unhandled.slice(0, 5),
      done: `${requests} requests at ${perSecond.toFixed()} per second, of which ${failed} failed; ${watches.map(({ summary }) => summary).join('; ')}`,
    };
  },
});

/** @returns ms, the p99 since the last call */
async function eventLoopDelay(relay: Relay): Promise<number> {
  return 1000 * Number((await metricsOf(relay)).get('nodejs_eventloop_lag_p99_seconds'));
}

/* Faults around a long-running relay, each of which is over within a few seconds. */

const BREAK_MS = 1000;
const HANG_MS = 3000;
const CROWD = 200;

export interface SoakStage {
  readonly relay: Relay;
  /** between the tenant's client and the relay */
  readonly network: FaultProxy;
  readonly service: HttpService;
  readonly tenant: Tenant;
}

export type SoakFault = (stage: SoakStage) => Promise<void>;

/** The faults, in the order of injection. */
export const SOAK_FAULTS: Readonly<Record<string, SoakFault>> = {
  'a network that breaks': async ({ network }) => {
    await network.cut();
    await delay(BREAK_MS);
    await network.restore();
  },
  'visitors who send nonsense': (stage) =>
    crowded(stage, (socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n')),
  'a client that is frozen': async ({ tenant }) => {
    tenant.culvert.child.kill('SIGSTOP');
    await delay(HANG_MS);
    tenant.culvert.child.kill('SIGCONT');
  },
  'visitors who leave in mid-answer': ({ relay, network, service, tenant }) =>
    crowded({ relay, network, service, tenant }, (socket) => {
      socket.write(`GET /long HTTP/1.1\r\nHost: ${tenant.host}\r\n\r\n`);
      socket.once('data', () => socket.resetAndDestroy());
    }),
  'a locked database': async ({ relay }) => {
    const scope = new Scope();
    const database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
    await delay(HANG_MS);
    await database.release();
    await scope.end();
  },
  'a network that stands still': async ({ network }) => {
    network.stall();
    await delay(HANG_MS);
    network.flow();
  },
  'a service that drops its connections': ({ service }) => {
    for (const socket of service.open) socket.resetAndDestroy();
    return Promise.resolve();
  },
  'a client that is killed': async ({ relay, service, tenant }) => {
    const scope = new Scope();
    const culvert = await Culvert.start(scope, relay, tenant.account.key, service.port);
    culvert.child.kill('SIGKILL');
    await scope.end();
    await tenant.account.api.close(culvert.tunnel.id);
  },
  'idle visitors': (stage) => crowded(stage, (socket) => socket.resume()),
};

/** Lets a crowd connect, do something, and leave. */
async function crowded({ relay }: SoakStage, begin: Behaviour['begin']): Promise<void> {
  const scope = new Scope();
  const crowd = new Crowd(scope, {
    port: relay.port,
    size: CROWD,
    arrivalsASecond: CROWD,
    addresses: loopbackAddresses(4),
    behaviour: { begin, goOn: () => {} },
  });
  await crowd.complete();
  await delay(BREAK_MS);
  await scope.end();
}
