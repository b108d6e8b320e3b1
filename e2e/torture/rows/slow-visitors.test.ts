/** Thousands of visitors that are slow in every part of an exchange, while others expect normal service. */
import { setTimeout as delay } from 'node:timers/promises';
import { describeFailure, Load, tallyOf } from '../../support/load.ts';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { type Behaviour, Crowd, loopbackAddresses } from '../tools/crowd.ts';
import { startTenant } from '../tools/tenants.ts';
import { type RunOptions, torture } from '../torture.ts';

const CONNECTIONS = 5000;
const SHORT_CONNECTIONS = 600;
/** Tunnels that they visit in turn: the client of a tunnel accepts 4,096 visitors at a time. */
const ATTACKED = 2;
const ADDRESSES = 20;
/** Connections a second: slow visitors do not arrive as a flood. */
const ARRIVALS_A_SECOND = 500;
const REQUESTS_A_SECOND = 100;
const VISITORS = 20;
/** Longer than the relay waits for a head, so that visitors it cuts return. */
const SECONDS = 30;
const SHORT_SECONDS = 5;
/** More than the kernel buffers for a connection that is hardly read. The rest waits in the relay and beyond it. */
const ANSWER = Buffer.alloc(250_000, 'x');

type Kind = 'heads' | 'bodies' | 'reads';

const behaviours: Record<Kind, (nextHost: () => string) => Behaviour> = {
  heads: (nextHost) => ({
    begin: (socket) => socket.resume().write(`GET / HTTP/1.1\r\nHost: ${nextHost()}\r\n`),
    goOn: (socket) => socket.write('A: b\r\n'),
  }),
  bodies: (nextHost) => ({
    begin: (socket) =>
      socket.resume().write(`POST /ok HTTP/1.1\r\nHost: ${nextHost()}\r\nContent-Length: 100000\r\n\r\n`),
    goOn: (socket) => socket.write('x'),
  }),
  reads: (nextHost) => ({
    begin: (socket) => socket.pause().write(`GET /long HTTP/1.1\r\nHost: ${nextHost()}\r\n\r\n`),
    goOn: (socket) => socket.read(1000),
  }),
};

/** Takes the hosts in turn. */
function inTurn(hosts: readonly string[]): () => string {
  let count = 0;
  return () => hosts[count++ % hosts.length] ?? '';
}

const servedShare = (what: string) => ({
  meaning: `requests from other addresses answered while ${CONNECTIONS} connections ${what}, %`,
  atLeast: 99.9,
});

torture<Kind>({
  name: 'slow-visitors',
  title: `${CONNECTIONS} connections from ${ADDRESSES} addresses send a request head or body byte by byte, or read a response slowly`,
  thresholds: {
    heads: servedShare('send slow heads'),
    bodies: servedShare('send slow bodies'),
    reads: servedShare('read slowly'),
  },

  async run(options) {
    const { heads, bodies, reads } = {
      heads: await torment(options, 'heads'),
      bodies: await torment(options, 'bodies'),
      reads: await torment(options, 'reads'),
    };
    const all = [heads, bodies, reads];
    return {
      figures: { heads: heads.percent, bodies: bodies.percent, reads: reads.percent },
      faults: all.flatMap(({ faults }) => faults),
      done: all.map(({ done }) => done).join('; '),
    };
  },
});

interface Torment {
  /** ordinary requests that got the right response */
  readonly percent: number;
  readonly done: string;
  readonly faults: readonly string[];
}

/** Runs a crowd against a separate relay, while others send requests to the same tunnels and to another one. */
async function torment({ short, say }: RunOptions, kind: Kind): Promise<Torment> {
  const scope = new Scope();
  try {
    const relay = await Relay.start(scope);
    const service = await startHttpService(scope, (request, response) => {
      request.resume();
      response.end(request.url === '/long' ? ANSWER : 'ok');
    });
    const tenants = Array.from({ length: ATTACKED + 1 }, () => startTenant(scope, relay, service.port));
    const hosts = (await Promise.all(tenants)).map(({ host }) => host);
    const crowd = new Crowd(scope, {
      port: relay.port,
      size: short ? SHORT_CONNECTIONS : CONNECTIONS,
      arrivalsASecond: ARRIVALS_A_SECOND,
      addresses: loopbackAddresses(ADDRESSES),
      behaviour: behaviours[kind](inTurn(hosts.slice(0, ATTACKED))),
    });
    await crowd.complete();
    let next = 0;
    const load = new Load(relay.port, REQUESTS_A_SECOND, VISITORS, () => ({
      host: hosts[(next += 1) % hosts.length] ?? '',
    }));
    const start = performance.now();
    await delay((short ? SHORT_SECONDS : SECONDS) * 1000);
    await load.stop();
    const { sent, good, failed } = tallyOf(load.asked, () => 'ok');
    const done = `slow ${kind}: ${sent} requests by other visitors, up to ${crowd.most} slow connections open at a time, and ${crowd.cut} of them cut by the relay`;
    say(done);
    if (relay.child.hasExited) throw new Error(`the relay has ended: ${relay.child.stderr}`);
    const faults = failed.slice(0, 3).map((asked) => `${kind}: ${describeFailure(asked, start)}`);
    return { percent: (100 * good) / sent, done, faults };
  } finally {
    await scope.end();
  }
}
