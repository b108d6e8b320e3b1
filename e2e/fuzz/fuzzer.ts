/**
 * Sends mutated requests through the relay to real web servers, and compares what they saw with what the relay counted: a
 * request that a server saw and the relay did not count was smuggled.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool, type TestAccount } from '../support/accounts.ts';
import { hostOf } from '../support/manual-client.ts';
import { startApacheSite, startNginxSite } from '../support/native-server.ts';
import { Culvert, Relay } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { type Address, mutatedRequest } from './mutations.ts';
import { Random } from '../support/random.ts';

/** Mutated requests to one server before the counts are compared. */
const BATCH = 1000;
/** Visitors at a time. */
const CONCURRENCY = 32;
/** ms within which a server has to respond. */
const VISIT_TIMEOUT_MS = 5000;
/** ms without a change after which the counts are taken as final. */
const SETTLE_MS = 150;

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

export class Fuzzer {
  readonly #relay: Relay;
  readonly #account: TestAccount;
  readonly #targets: readonly Target[];
  #unanswered = 0;

  private constructor(relay: Relay, account: TestAccount, targets: readonly Target[]) {
    this.#relay = relay;
    this.#account = account;
    this.#targets = targets;
  }

  /** Visits that were given up because their responses did not end in time. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Starts the relay and, each behind a tunnel, Node's server, nginx and Apache. */
  static async start(scope: Scope): Promise<Fuzzer> {
    const relay = await Relay.start(scope);
    const account = await new AccountPool(relay).take();
    const servers = {
      node: await startNodeSite(scope),
      nginx: await startNginxSite(scope),
      apache: await startApacheSite(scope),
    };
    const targets: Target[] = [];
    for (const [name, server] of Object.entries(servers)) {
      const { tunnel } = await Culvert.start(scope, relay, account.key, server.port);
      const { id, slug } = tunnel;
      const address = { slug, host: hostOf(tunnel, relay), relayHost: `localhost:${relay.port}` };
      const before = server.countRequests();
      targets.push({ name, id, address, countSeen: () => server.countRequests() - before });
    }
    return new Fuzzer(relay, account, targets);
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
        // Repeated batches must aim at the same server, so that depends on the number, and so does how the bytes are cut.
        const random = new Random(seed, number);
        const bytes = Buffer.from(mutatedRequest(random, target.address), 'latin1');
        const cut = random.below(4) === 0 ? random.below(bytes.length) : bytes.length;
        if (!(await visitOnce(this.#relay.port, bytes, cut))) this.#unanswered += 1;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  }

  /** The counts once they no longer change: servers log when a request has ended. */
  async #settledCounts(): Promise<Record<string, Counts>> {
    for (let last = '', since = performance.now(); ; await delay(10)) {
      const counts: Record<string, Counts> = {};
      for (const { name, id, countSeen } of this.#targets) {
        const seen = countSeen();
        counts[name] = { seen, counted: (await this.#account.api.get(id)).requests };
      }
      const text = JSON.stringify(counts);
      if (text !== last) [last, since] = [text, performance.now()];
      const equal = Object.values(counts).every(({ seen, counted }) => seen === counted);
      if (equal || performance.now() - since > SETTLE_MS) return counts;
    }
  }
}

async function startNodeSite(scope: Scope): Promise<{ port: number; countRequests: () => number }> {
  let requests = 0;
  const service = await startHttpService(scope, (request, response) => {
    requests += 1;
    request.resume();
    response.end('node\n');
  });
  return { port: service.port, countRequests: () => requests };
}

/**
 * Sends bytes in up to two pieces, half-closes, and reads until the connection ends.
 *
 * @returns whether it ended in time
 */
function visitOnce(port: number, bytes: Buffer, cut: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => {
      resolve(false);
      socket.destroy();
    }, VISIT_TIMEOUT_MS);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
    socket.resume();
    socket.write(bytes.subarray(0, cut));
    if (cut === bytes.length) socket.end();
    else setImmediate(() => socket.end(bytes.subarray(cut)));
  });
}
