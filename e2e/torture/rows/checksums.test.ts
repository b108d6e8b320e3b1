/** Bodies of all sizes, in both directions, over a network that delays, splits, stalls and breaks. */
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../support/accounts.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { RawConnection } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { digest, payload, payloadChecksum, startSite } from '../../support/services/echo.ts';
import { torture } from '../torture.ts';
import { Faults } from '../tools/measure.ts';

const BYTES = 10_000_000_000;
const SHORT_BYTES = 200_000_000;
const VISITORS = 8;
/** Close to the sizes of frames, buffers and windows, and far beyond them. */
const SIZES = [
  0, 1, 125, 126, 1023, 16_383, 16_384, 65_535, 65_536, 65_537, 300_000, 1_048_576, 4_194_305, 16_777_216,
  50_000_000,
];
/** How a body is framed: with its length, in chunks, ended by the end of the connection, or as an upload. */
const WAYS = ['length', 'chunked', 'until close', 'upload'] as const;
type Way = (typeof WAYS)[number];

/** The conditions between relay and client, in turn. */
const NETWORKS: readonly Partial<FaultProxy['shape']>[] = [
  {},
  { pieceBytes: 1400 },
  {},
  { latencyMs: 20 },
  {},
  { bytesPerSecond: 20_000_000, pieceBytes: 16_384 },
];
const EACH_MS = 2500;
const STALL_MS = 300;
/** The number of changes after which the network breaks, and the ms for which it is then away. */
const BREAK_AFTER = 4;
const AWAY_MS = 200;
const SILENCE_MS = 30_000;

type Figure = 'mismatches' | 'truncations';

torture<Figure>({
  name: 'checksums',
  title: `Bodies of ${SIZES[0]} to 20 MB are sent in both directions while the network between the relay and the client changes, stalls and breaks`,
  thresholds: {
    mismatches: { meaning: 'bodies that arrived corrupted', atMost: 0 },
    truncations: { meaning: 'truncated bodies that looked complete', atMost: 0 },
  },

  async run({ scope, short, say }) {
    const [relay, site] = await Promise.all([Relay.start(scope), startSite(scope)]);
    const network = await FaultProxy.start(scope, relay.port);
    const { key } = await createAccount(relay, { plan: 'team' });
    const culvert = await Culvert.start(scope, network, key, site.port);
    const host = hostOf(culvert.tunnel, relay);
    const faults = new Faults();
    const wanted = short ? SHORT_BYTES : BYTES;
    let bytes = 0;
    let whole = 0;
    let broken = 0;
    let turn = 0;
    const visitor = async (): Promise<void> => {
      while (bytes < wanted) {
        const size = SIZES[turn % SIZES.length] ?? 0;
        const way = WAYS[Math.floor(turn / SIZES.length) % WAYS.length] ?? 'length';
        turn += 1;
        try {
          const wrong = await transfer(relay.port, host, way, size);
          if (wrong === undefined) whole += 1;
          else faults.add(wrong, `${size} bytes, ${way}`);
          bytes += size;
        } catch {
          // A visible break is acceptable.
          broken += 1;
        }
      }
    };
    const trouble = new AbortController();
    const troubled = shake(network, trouble.signal, () =>
      say(`${(bytes / 1e9).toFixed(2)} GB, ${whole} bodies whole, ${broken} visibly broken`),
    );
    await Promise.all(Array.from({ length: VISITORS }, visitor));
    trouble.abort();
    await troubled;
    return {
      figures: faults.counts('mismatches', 'truncations'),
      faults: faults.first,
      done: `${(bytes / 1e9).toFixed(2)} GB in ${whole} complete bodies; ${broken} others were cut short, and the receiver noticed each time`,
    };
  },
});

/** Occasionally changes the network's conditions, stalls it, and breaks it. */
async function shake(network: FaultProxy, signal: AbortSignal, report: () => void): Promise<void> {
  const wait = (ms: number): Promise<unknown> => delay(ms, undefined, { signal }).catch(() => undefined);
  const usual = { latencyMs: 0, bytesPerSecond: 0, pieceBytes: 0 };
  for (let turn = 1; !signal.aborted; turn += 1) {
    Object.assign(network.shape, usual, NETWORKS[turn % NETWORKS.length]);
    await wait(EACH_MS);
    network.stall();
    await wait(STALL_MS);
    network.flow();
    if (turn % BREAK_AFTER !== 0) continue;
    await network.cut();
    await wait(AWAY_MS);
    await network.restore();
    report();
  }
}

/**
 * @returns the error in a body that looks complete
 * @throws Error if the body looks incomplete, or something else was received
 */
async function transfer(port: number, host: string, way: Way, size: number): Promise<Figure | undefined> {
  const scope = new Scope();
  try {
    const visitor = await RawConnection.open(scope, port, SILENCE_MS);
    const method = way === 'upload' ? 'POST' : 'GET';
    const target = {
      length: `/bytes/${size}`,
      chunked: `/chunked/${size}`,
      'until close': `/chunked/${size}`,
      upload: '/sink',
    };
    const version = way === 'until close' ? '1.0' : '1.1';
    const length = way === 'upload' ? `Content-Length: ${size}\r\n` : '';
    await visitor.write(`${method} ${target[way]} HTTP/${version}\r\nHost: ${host}\r\n${length}\r\n`);
    if (way === 'upload') for (const chunk of payload(size)) await visitor.write(chunk);
    const head = await visitor.finalHead();
    if (head.status !== 200) throw new Error(`answered ${head.status}`);
    const arrived =
      way === 'upload'
        ? (JSON.parse((await visitor.rest(head, method)).text) as { sha256: string; length: number })
        : await digest(visitor.body(head));
    if (arrived.length < size) return 'truncations';
    return arrived.sha256 === payloadChecksum(size) ? undefined : 'mismatches';
  } finally {
    await scope.end();
  }
}
