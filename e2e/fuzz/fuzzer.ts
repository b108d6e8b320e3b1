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
import { Random } from '../support/random.ts';
import type { Scope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

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
        // Repeated batches must aim at the same server, so the target depends on the number, and so do the cuts of the
        // bytes.
        const random = new Random(seed, number);
        const bytes = Buffer.from(mutatedRequest(random, target.address), 'latin1');
        const cut = random.below(4) === 0 ? random.below(bytes.length) : bytes.length;
        if (!(await visitOnce(this.#relay.port, bytes, cut))) this.#unanswered += 1;
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

/* Requests as visitors send them, and the ways in which they are damaged. Text is latin1, one character per byte. */

export interface Address {
  readonly slug: string;
  /** `Host` of the tunnel */
  readonly host: string;
  /** `Host` of the relay itself */
  readonly relayHost: string;
}

type Texts = readonly [string, ...string[]];
type Mutation = (text: string, random: Random, address: Address) => string;

/** Characters that a mutation may insert anywhere, because parsers disagree about their meaning. */
const CHARACTERS: Texts = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  '\v',
  '\f',
  ':',
  ',',
  ';',
  '0',
  '\x7f',
  '\x85',
  '\xa0',
  '\xff',
];
const LINE_ENDS: Texts = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', '\r\n ', '\r\n\t', ' \r\n', '\0\r\n', ''];
const FIELDS: Texts = [
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 60',
  'content-length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length:\v5',
  'Content-Length : 5',
  'Content-Length: 18446744073709551617',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding:\vchunked',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding\0: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Connection: close',
  'Connection: keep-alive, content-length, transfer-encoding',
  'Connection: host',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Connection: upgrade, http2-settings\r\nUpgrade: h2c',
  'Expect: 100-continue',
  'TE: trailers',
  'Trailer: Content-Length',
  'Host: other',
  'Host: localhost',
  'X-HTTP-Method-Override: PUT',
  ': nameless',
  'no colon',
];
const VERSIONS: Texts = [
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/11',
  '',
];
const CHUNK_SIZES: Texts = [
  '0',
  '1',
  '00',
  '0x5',
  '+5',
  '-1',
  '5 ',
  ' 5',
  '5;a',
  '5;\n',
  'fffffffffffffffff',
  '100000000',
  'g',
  '',
];

function mutationsRequests({ slug, host, relayHost }: Address): Texts {
  const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n`;
  const simple = `GET /a HTTP/1.1\r\nHost: ${host}\r\n`;
  const post = `POST /b?c=d HTTP/1.1\r\nHost: ${host}\r\n`;
  return [
    `${simple}\r\n`,
    `${simple}Accept: */*\r\nConnection: close\r\n\r\n`,
    `HEAD /a HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /a HTTP/1.0\r\nHost: ${host}\r\n\r\n${smuggled}`,
    `GET /t/${slug}/x HTTP/1.1\r\nHost: ${relayHost}\r\n\r\n`,
    `GET http://${host}/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `${simple}Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n${smuggled}`,
    `${post}Content-Length: 5\r\n\r\nhello`,
    `${post}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `${post}Expect: 100-continue\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;ext="a"\r\nhello\r\n${chunk}0\r\nX: y\r\n\r\n`,
    `${simple}\r\n${post}Content-Length: 5\r\n\r\nhello${simple}\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n${simple}\r\n${simple}\r\n`,
  ];
}

function splice(text: string, at: number, removed: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at + removed);
}

/** Replaces one match of the pattern, if there is any. */
function replaceOne(
  text: string,
  random: Random,
  pattern: RegExp,
  replace: (match: string) => string,
): string {
  const matches = [...text.matchAll(pattern)];
  const match = matches[random.below(matches.length)];
  return match === undefined ? text : splice(text, match.index, match[0].length, replace(match[0]));
}

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  function flipBit(text, random) {
    const at = random.below(text.length);
    return splice(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8))));
  },
  function insertCharacter(text, random) {
    return splice(text, random.below(text.length + 1), 0, random.pick(CHARACTERS));
  },
  function replaceCharacter(text, random) {
    return splice(text, random.below(text.length), 1, random.pick(CHARACTERS));
  },
  function remove(text, random) {
    return splice(text, random.below(text.length), 1 + random.below(4), '');
  },
  function cut(text, random) {
    return text.slice(0, 1 + random.below(text.length));
  },
  function repeatPart(text, random) {
    const at = random.below(text.length);
    return splice(text, at, 0, text.slice(at, at + 1 + random.below(40)));
  },
  function changeLineEnd(text, random) {
    return replaceOne(text, random, /\r\n/g, () => random.pick(LINE_ENDS));
  },
  function addField(text, random) {
    return replaceOne(text, random, /\r\n/g, () => `\r\n${random.pick(FIELDS)}\r\n`);
  },
  function repeatFramingField(text, random) {
    return replaceOne(
      text,
      random,
      /(?:content-length|transfer-encoding|host):[^\r]*\r\n/gi,
      (line) => line + line,
    );
  },
  function renameFramingField(text, random) {
    const renamed: readonly [(name: string) => string, ...((name: string) => string)[]] = [
      (name) => name.replace('-', '_'),
      (name) => `${name} `,
      (name) => ` ${name}`,
      (name) => `${name}\0`,
      (name) => name.toUpperCase(),
      (name) => `X-${name}`,
    ];
    return replaceOne(text, random, /content-length|transfer-encoding|host/gi, random.pick(renamed));
  },
  function changeLength(text, random) {
    return replaceOne(text, random, /(?<=content-length: )\d+/gi, (digits) => {
      const value = Number(digits) + random.below(7) - 3;
      return random.pick([
        String(value),
        `0${digits}`,
        `+${digits}`,
        `${digits}, ${digits}`,
        `${digits} ${value}`,
      ]);
    });
  },
  function changeChunkSize(text, random) {
    return replaceOne(text, random, /(?<=\r\n)[0-9a-f]+(?=[;\r])/gi, () => random.pick(CHUNK_SIZES));
  },
  function changeVersion(text, random) {
    return replaceOne(text, random, /HTTP\/1\.[01]/g, () => random.pick(VERSIONS));
  },
  function pipeline(text, random, address) {
    return text + random.pick(mutationsRequests(address));
  },
];

/** The bytes of one mutated request, possibly followed by others. */
export function mutatedRequest(random: Random, address: Address): string {
  let text = random.pick(mutationsRequests(address));
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    text = random.pick(MUTATIONS)(text, random, address) || text;
  }
  return text;
}
