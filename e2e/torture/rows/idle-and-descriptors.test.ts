/** More idle connections than the relay's limit, and more connections than descriptors. */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describeFailure, Load, tallyOf } from '../../support/load.ts';
import { type Culvert, Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { secondsUntilServed } from '../tools/measure.ts';
import { Crowd, loopbackAddresses } from '../tools/crowd.ts';
import { startTenant } from '../tools/tenants.ts';
import { type RunOptions, torture } from '../torture.ts';

/** The relay's limit of connections. */
const IDLE = 10_000;
const SHORT_IDLE = 1000;
/** Below the limit of open connections per address. */
const IDLE_AN_ADDRESS = 200;
const ARRIVALS_A_SECOND = 1000;
const DESCRIPTORS = 512;
const TOO_MANY = 700;
const BACK_SECONDS = 5;
/** Longer than that, so that waiting alone does not get a visitor in. */
const IDLE_MS = 20_000;
const SHORT_IDLE_MS = 7000;
const EXHAUSTED_MS = 5000;

type Figure = 'crashes' | 'seats' | 'relay' | 'client';

torture<Figure>({
  name: 'idle-and-descriptors',
  title: `${IDLE} idle connections use every slot of a relay. Then the relay and the client, each limited to ${DESCRIPTORS} file descriptors, run out of them`,
  thresholds: {
    crashes: { meaning: 'programs that crashed', atMost: 0 },
    seats: {
      meaning: 'longest time without a response while idle connections use all slots, s',
      atMost: BACK_SECONDS,
      onlyWhole: true,
    },
    relay: {
      meaning: 'time until the relay serves requests again after file descriptors become free, s',
      atMost: BACK_SECONDS,
      onlyWhole: true,
    },
    client: {
      meaning: 'time until the client serves requests again after file descriptors become free, s',
      atMost: BACK_SECONDS,
      onlyWhole: true,
    },
  },

  async run(options) {
    const stages = [
      await inStage(options, idle),
      await inStage(options, relayWithoutDescriptors),
      await inStage(options, clientWithoutDescriptors),
    ];
    const [seats, relay, client] = stages.map(({ seconds }) => seconds);
    return {
      figures: {
        crashes: stages.reduce((sum, { crashes }) => sum + crashes, 0),
        seats: seats ?? NaN,
        relay: relay ?? NaN,
        client: client ?? NaN,
      },
      faults: stages.flatMap(({ faults }) => faults),
      done: stages.map(({ done }) => done).join('; '),
    };
  },
});

interface Stage {
  readonly scope: Scope;
  readonly options: RunOptions;
  readonly relay: Relay;
  readonly culvert: Culvert;
  /** of the tunnel */
  readonly host: string;
}

interface Outcome {
  readonly seconds: number;
  readonly faults: readonly string[];
  readonly done: string;
}

/** Runs a part on separate programs, and checks that they survive. */
async function inStage(
  options: RunOptions,
  part: (stage: Stage) => Promise<Outcome>,
): Promise<Outcome & { readonly crashes: number }> {
  const scope = new Scope();
  try {
    const seats = options.short ? SHORT_IDLE : IDLE;
    const relay = await Relay.start(scope, { CULVERT_MAX_CONNECTIONS: String(seats) });
    const service = await startHttpService(scope, (request, response) => {
      request.resume().once('end', () => response.end('ok'));
    });
    const { culvert, host } = await startTenant(scope, relay, service.port);
    const outcome = await part({ scope, options, relay, culvert, host });
    options.say(outcome.done);
    const crashed = [relay.child, culvert.child].filter((child) => child.hasExited);
    const faults = [...crashed.map(({ stderr }) => stderr.slice(-2000)), ...outcome.faults];
    return { ...outcome, faults, crashes: crashed.length };
  } finally {
    await scope.end();
  }
}

/** Connections that are idle after one request use up the limit, while new visitors arrive. */
async function idle({ scope, options, relay, host }: Stage): Promise<Outcome> {
  const size = options.short ? SHORT_IDLE : IDLE;
  const crowd = new Crowd(scope, {
    port: relay.port,
    size,
    arrivalsASecond: ARRIVALS_A_SECOND,
    addresses: loopbackAddresses(size / IDLE_AN_ADDRESS),
    behaviour: {
      begin: (socket) => socket.resume().write(`GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n`),
      goOn: () => {},
    },
  });
  await crowd.complete();
  const start = performance.now();
  const load = new Load(relay.port, 20, 4, () => ({ host }));
  await delay(options.short ? SHORT_IDLE_MS : IDLE_MS);
  await load.stop();
  const { sent, good, failed } = tallyOf(load.asked, () => 'ok');
  const responses = load.asked.filter((asked) => !failed.includes(asked)).map(({ at, ms }) => at + ms);
  return {
    seconds: longestGap([start, ...responses, performance.now()]) / 1000,
    faults: failed.slice(0, 3).map((asked) => describeFailure(asked, start)),
    done: `${good} of ${sent} ordinary requests answered while ${crowd.most} connections were idle`,
  };
}

/** Visitors use up all descriptors of the relay, and leave. */
async function relayWithoutDescriptors(stage: Stage): Promise<Outcome> {
  limitDescriptors(stage.relay.child.pid);
  return await withoutDescriptors(stage, 'the relay', 'GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n');
}

/** Visitors with unfinished bodies use up all descriptors of the client, and leave. */
async function clientWithoutDescriptors(stage: Stage): Promise<Outcome> {
  limitDescriptors(stage.culvert.child.pid);
  const head = `POST / HTTP/1.1\r\nHost: ${stage.host}\r\nContent-Length: 100\r\n\r\n`;
  return await withoutDescriptors(stage, 'the client', head);
}

async function withoutDescriptors(stage: Stage, who: string, request: string): Promise<Outcome> {
  const { scope, relay, host } = stage;
  const crowd = new Crowd(scope, {
    port: relay.port,
    size: TOO_MANY,
    arrivalsASecond: ARRIVALS_A_SECOND,
    addresses: loopbackAddresses(Math.ceil(TOO_MANY / IDLE_AN_ADDRESS)),
    behaviour: { begin: (socket) => socket.resume().write(request), goOn: () => {} },
  });
  await crowd.complete();
  await delay(EXHAUSTED_MS);
  crowd.leave();
  const back = await secondsUntilServed(relay, host);
  return { ...back, done: `${who} had ${DESCRIPTORS} file descriptors for ${TOO_MANY} connections` };
}

/** Works like `ulimit -n`, but on a running program. */
function limitDescriptors(pid: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`]);
}

/** @param times in ms, in any order */
function longestGap(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.max(...sorted.map((time, index) => time - (sorted[index - 1] ?? time)));
}
