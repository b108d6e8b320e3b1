/**
 * Visitors who leave while they wait, as browsers do: they close the connection without announcing that they no longer
 * read.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectWithTls } from 'node:tls';
import { LEAVE_TIMEOUT_MS } from '../../../server/limits.ts';
import { createAccount } from '../../support/accounts.ts';
import { eventually } from '../../support/deadline.ts';
import { metricsOf, WITH_METRICS } from '../../support/memory.ts';
import { Culvert, type RelayProcess } from '../../support/programs.ts';
import { formatRequest, type RawConnection } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { type Service, startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { torture } from '../torture.ts';
import { Faults, HeapReport, inParallel } from '../tools/measure.ts';
import { loopbackAddresses } from '../tools/crowd.ts';
import { type Front, type Fronts, startFronts } from '../tools/fronts.ts';

/** Number of waves, and visitors per wave on every front. */
const SIZE = {
  whole: { waves: 6, visitors: 400, streams: 50 },
  short: { waves: 2, visitors: 60, streams: 20 },
};
const OPENED_AT_A_TIME = 50;
/** Visitors per address: fewer than the default limit, which each address uses up afterwards. */
const OF_AN_ADDRESS = 150;
const ADDRESS_LIMIT = 256;
/** The source address of HTTP/2 streams. */
const STREAMS_ADDRESS = '127.0.3.1';
/** ms that an instantaneous action takes at most on a busy machine. */
const PATIENCE_MS = 120_000;
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const GAUGES = ['visitor_connections', 'data_streams', 'trunk_streams', 'rendezvous_pending'];

type Figure = 'left' | 'counted' | 'refused' | 'descriptors' | 'memory' | 'seconds';

torture<Figure>({
  name: 'leavers',
  title:
    '10,000 visitors close their connection or HTTP/2 stream while they wait for a service that never responds, directly and through nginx, HAProxy and Caddy',
  thresholds: {
    left: { meaning: 'local connections still open afterwards', atMost: 0 },
    counted: { meaning: 'visitors and streams still counted by the relay afterwards', atMost: 0 },
    refused: {
      meaning: 'later visitors refused when each address opened as many connections as its limit allows',
      atMost: 0,
    },
    descriptors: { meaning: 'growth in file descriptors since the first wave', atMost: 8 },
    memory: {
      // Of the 8,750 visitors after the first wave, no more than 1.9 KiB each may remain.
      meaning: 'growth since the first wave in memory that is in use after a garbage collection, MiB',
      atMost: 16,
    },
    seconds: {
      meaning: 'time until the relay had dropped the last visitor of a wave, s',
      atMost: LEAVE_TIMEOUT_MS / 1000 + 5,
      onlyWhole: true,
    },
  },

  async run({ scope, short, say }) {
    const { waves, visitors, streams } = short ? SIZE.short : SIZE.whole;
    const stage = await startStage(scope);
    const faults = new Faults();
    let seconds = 0;
    let count = 0;
    let base: Use | undefined;
    for (let wave = 1; wave <= waves; wave += 1) {
      const left = await leave(stage, visitors, streams, faults);
      seconds = Math.max(seconds, left.seconds);
      count += left.count;
      await settle(stage, faults);
      base ??= await useOf(stage);
      say(`${count} have left, the last ${left.seconds.toFixed(1)} s after it had closed`);
    }
    const now = await useOf(stage);
    await visitAgain(stage, faults);
    return {
      figures: {
        ...faults.counts('left', 'counted', 'refused'),
        descriptors: now.descriptors - (base?.descriptors ?? NaN),
        memory: now.mebibytes - (base?.mebibytes ?? NaN),
        seconds,
      },
      done: `${count} visitors in ${waves} waves, from ${stage.addresses.length} addresses`,
      faults: faults.first,
    };
  },
});

interface Stage extends Fronts {
  readonly service: Service;
  readonly culvert: Culvert;
  readonly heaps: { readonly relay: HeapReport; readonly culvert: HeapReport };
  /** of the tunnel */
  readonly host: string;
  readonly addresses: readonly string[];
}

async function startStage(scope: Scope): Promise<Stage> {
  const heaps = { relay: new HeapReport(scope), culvert: new HeapReport(scope) };
  const fronts = await startFronts(scope, { ...WITH_METRICS, ...heaps.relay.environment });
  const service = await startRawService(scope, (socket) => {
    socket.on('data', (bytes: Buffer) => {
      if (bytes.toString('latin1').startsWith('GET /answered ')) socket.write(ANSWER);
    });
    socket.on('end', () => socket.end());
  });
  const { key } = await createAccount(fronts.relay, { plan: 'team' });
  const address = { url: `http://127.0.0.1:${fronts.relay.port}` };
  const culvert = await Culvert.start(scope, address, key, service.port, [], heaps.culvert.environment);
  const host = `${culvert.tunnel.slug}.${SHIPPED.tunnelDomain}`;
  const most = SIZE.whole.visitors * fronts.fronts.length;
  const addresses = loopbackAddresses(Math.ceil(most / OF_AN_ADDRESS));
  return { ...fronts, service, culvert, heaps, host, addresses };
}

/** A wave: all visitors send a request on every front, wait, and leave together. */
async function leave(
  stage: Stage,
  visitors: number,
  streams: number,
  faults: Faults,
): Promise<{ readonly count: number; readonly seconds: number }> {
  const { service, fronts, host, addresses } = stage;
  const scope = new Scope();
  try {
    const waiting: RawConnection[] = [];
    const all = fronts.flatMap((front) => Array<Front>(visitors).fill(front));
    await inParallel(OPENED_AT_A_TIME, all.entries(), async ([index, front]) => {
      const visitor = await front.open(scope, { from: addresses[index % addresses.length] ?? '' });
      await visitor.write(formatRequest({ host }));
      waiting.push(visitor);
      // The service shares this process with the visitors, and its accept queue must not overflow.
      await eventually(PATIENCE_MS, () => {
        if (waiting.length - service.open.size > OPENED_AT_A_TIME) throw new Error('the service is behind');
      });
    });
    const cancels = fronts
      .filter(({ name }) => name !== 'straight')
      .map((front) => ask(scope, stage, front, streams));
    const count = waiting.length + cancels.length * streams;
    await eventually(PATIENCE_MS, () => {
      if (service.open.size < count) throw new Error(`${service.open.size} of ${count} requests have come`);
    });
    const start = performance.now();
    // Some close the connection, some only their side. Both only mean that they send nothing more.
    for (const [index, { socket }] of waiting.entries()) {
      if (index % 2 === 0) socket.destroy();
      else socket.end();
    }
    for (const cancel of cancels) cancel();
    await eventually(PATIENCE_MS, () => {
      if (service.open.size > 0) throw new Error(`${service.open.size} local connections`);
    }).catch((error: unknown) => {
      for (let left = service.open.size; left > 0; left -= 1) faults.add('left', String(error));
    });
    return { count, seconds: (performance.now() - start) / 1000 };
  } finally {
    await scope.end();
  }
}

/**
 * Sends many requests on one HTTP/2 connection. @returns a function that cancels all of them, as a browser does when a
 * page is left
 */
function ask(scope: Scope, { authority, host }: Stage, { port }: Front, count: number): () => void {
  const address = { port, host: '127.0.0.1', localAddress: STREAMS_ADDRESS };
  const tls = { ca: readFileSync(authority), servername: SHIPPED.relayHost, ALPNProtocols: ['h2'] };
  const session = connectHttp2(`https://${SHIPPED.relayHost}`, {
    createConnection: () => connectWithTls({ ...address, ...tls }),
  });
  session.on('error', () => {});
  scope.defer(() => session.destroy());
  const requests = Array.from({ length: count }, () => session.request({ ':authority': host, ':path': '/' }));
  for (const request of requests) request.on('error', () => {});
  return () => {
    for (const request of requests) request.close();
  };
}

/** Waits until the relay no longer counts any of them. */
async function settle({ relay }: Stage, faults: Faults): Promise<void> {
  await eventually(PATIENCE_MS / 4, async () => {
    const metrics = await metricsOf(relay);
    const counted = GAUGES.filter((gauge) => (metrics.get(`culvert_${gauge}`) ?? 0) > 0);
    if (counted.length > 0)
      throw new Error(counted.map((gauge) => `${gauge} ${metrics.get(`culvert_${gauge}`)}`).join());
  }).catch((error: unknown) => faults.add('counted', String(error)));
}

/** Every address has as many requests in progress as it may: none of its slots is still occupied. */
async function visitAgain({ fronts, host, addresses }: Stage, faults: Faults): Promise<void> {
  const [front] = fronts;
  for (const from of addresses) {
    const scope = new Scope();
    await inParallel(OPENED_AT_A_TIME, Array(ADDRESS_LIMIT).keys(), async () => {
      const visitor = await front?.open(scope, { from });
      const response = await visitor?.request({ host, target: '/answered' });
      if (response?.status !== 200) faults.add('refused', `${from}: ${response?.status} ${response?.text}`);
    });
    await scope.end();
  }
}

interface Use {
  readonly descriptors: number;
  readonly mebibytes: number;
}

async function useOf({ relay, culvert, heaps }: Stage): Promise<Use> {
  const programs: readonly RelayProcess[] = [relay.child, culvert.child];
  return {
    descriptors: programs.reduce((sum, { pid }) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
    mebibytes: (await heaps.relay.ask(relay.child)) + (await heaps.culvert.ask(culvert.child)),
  };
}
