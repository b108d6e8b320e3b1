/**
 * Sends mutated requests through the relay to real web servers, and compares what they saw with what the relay counted: a
 * request that a server saw and the relay did not count was smuggled.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../support/accounts.ts';
import { Api } from '../../support/api.ts';
import { Authority } from '../../support/certificates.ts';
import { startApacheSite, startNginxSite } from '../../support/native-server.ts';
import { Culvert, type Environment, Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import type { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { type Address, visitOverHttp1 } from './http1-requests.ts';
import { visitOverHttp2 } from './http2-requests.ts';

/** Mutated requests to one server before the counts are compared. */
const BATCH = 500;
/** Visitors at a time. */
const CONCURRENCY = 32;
/** Whether the relay may have several processes, which learn of each other's counts each second. */
const IS_SHARED = process.env['CULVERT_WORKERS'] !== undefined;
/** ms without a change after which the counts are taken as final. */
const SETTLE_MS = IS_SHARED ? 3000 : 150;

interface Target {
  readonly name: string;
  readonly id: string;
  readonly address: Address;
  readonly countSeen: () => number;
}

export interface Counts {
  /** requests the relay says it handed to the tunnel */
  readonly counted: number;
  /** requests its server saw */
  readonly seen: number;
}

export interface FuzzRun {
  readonly seed: number;
  /** the first mutation; each depends only on its number and the seed */
  readonly from: number;
  readonly count: number;
}

export type HttpVersion = '1.1' | '2';

/** Sends mutated requests. @returns whether they were answered in time */
type Visit = (random: Random, address: Address) => Promise<boolean>;

export class Fuzzer {
  readonly #relay: Relay;
  readonly #api: Api;
  readonly #visit: Visit;
  readonly #targets: readonly Target[];
  #unanswered = 0;

  private constructor(relay: Relay, api: Api, visit: Visit, targets: readonly Target[]) {
    this.#relay = relay;
    this.#api = api;
    this.#visit = visit;
    this.#targets = targets;
  }

  /** Visits that were given up because their responses did not end in time. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Starts the relay and, each behind a tunnel, Node's server, nginx and Apache. */
  static async start(scope: Scope, version: HttpVersion): Promise<Fuzzer> {
    const authority = new Authority(scope);
    const isHttp2 = version === '2';
    const relay = await Relay.start(scope, isHttp2 ? tlsSettings(authority) : {});
    const { key } = await createAccount(relay);
    const tls = isHttp2 ? { ca: authority.pem, servername: 'localhost' } : undefined;
    const visit: Visit = isHttp2
      ? (random, { slug, host }) => {
          const target = { port: relay.port, ca: authority.pem, servername: `${slug}.tunnels.test` };
          return visitOverHttp2(target, random, host);
        }
      : (random, address) => visitOverHttp1(relay.port, random, address);
    const servers = {
      node: await startNodeSite(scope),
      nginx: await startNginxSite(scope),
      apache: await startApacheSite(scope),
    };
    const targets: Target[] = [];
    for (const [name, server] of Object.entries(servers)) {
      const { tunnel } = await Culvert.start(scope, relay, key, server.port, [], {
        NODE_EXTRA_CA_CERTS: authority.path,
      });
      const { id, slug, public_url: url } = tunnel;
      const address = { slug, host: new URL(url).host, relayHost: `localhost:${relay.port}` };
      const before = server.countRequests();
      targets.push({ name, id, address, countSeen: () => server.countRequests() - before });
    }
    return new Fuzzer(relay, new Api(relay, key, tls), visit, targets);
  }

  /**
   * Sends mutated requests, and compares the counts as it goes.
   *
   * @param onProgress told the number of the next mutation after each batch
   * @returns the counts of each server
   * @throws Error that says which mutations to repeat, if a server saw more than the relay counted or got requests meant for
   *   another
   */
  async run(
    { seed, from, count }: FuzzRun,
    onProgress?: (next: number) => void,
  ): Promise<Record<string, Counts>> {
    let counts = await this.#settledCounts();
    for (let next = from; next < from + count; next += BATCH) {
      const size = Math.min(BATCH, from + count - next);
      const target = this.#targets[Math.floor(next / BATCH) % this.#targets.length];
      if (target === undefined) break;
      const where = `to ${target.name}; repeat with --seed ${seed} --from ${next} --count ${size}`;
      await this.#sendBatch(target, seed, next, size);
      const after = await this.#settledCounts();
      for (const { name } of this.#targets) {
        const { counted, seen } = after[name] ?? { counted: 0, seen: 0 };
        const before = counts[name] ?? { counted: 0, seen: 0 };
        if (seen > counted)
          throw new Error(`${name} saw ${seen} requests, the relay counted ${counted}, ${where}`);
        if (name !== target.name && (seen !== before.seen || counted !== before.counted))
          throw new Error(`${name} was sent requests ${where}`);
      }
      if (this.#relay.child.hasExited)
        throw new Error(`the relay ended: ${this.#relay.child.stderr}, ${where}`);
      counts = after;
      onProgress?.(next + size);
    }
    return counts;
  }

  async #sendBatch(target: Target, seed: number, first: number, size: number): Promise<void> {
    let next = first;
    const work = async (): Promise<void> => {
      while (next < first + size) {
        const number = next;
        next += 1;
        // Repeated batches must send the same, so everything depends on the number.
        const random = new Random(seed, number);
        if (!(await this.#visit(random, target.address))) this.#unanswered += 1;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  }

  /** The counts once they are stable: servers log when a request has ended. */
  async #settledCounts(): Promise<Record<string, Counts>> {
    for (let last = '', since = performance.now(); ; await delay(10)) {
      const counts: Record<string, Counts> = {};
      for (const { name, id, countSeen } of this.#targets) {
        const seen = countSeen();
        counts[name] = { seen, counted: (await this.#api.get(id)).requests };
      }
      const text = JSON.stringify(counts);
      if (text !== last) [last, since] = [text, performance.now()];
      const equal = Object.values(counts).every(({ seen, counted }) => seen === counted);
      if ((equal && !IS_SHARED) || performance.now() - since > SETTLE_MS) return counts;
    }
  }
}

async function startNodeSite(scope: Scope): Promise<{ port: number; countRequests: () => number }> {
  let requests = 0;
  const service = await startHttpService(scope, (incoming, response) => {
    requests += 1;
    incoming.resume();
    response.end('node\n');
  });
  return { port: service.port, countRequests: () => requests };
}

function tlsSettings(authority: Authority): Environment {
  const { cert, key } = authority.issue('*.tunnels.test');
  return { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key, CULVERT_TUNNEL_DOMAIN: 'tunnels.test' };
}
