/** A relay with a thousand clients is killed, and all of them return to its successor. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount } from '../../support/accounts.ts';
import { type Child, runScript } from '../../support/child.ts';
import { addTunnels } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Relay } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { torture } from '../torture.ts';
import { Faults, inParallel, mostWithin } from '../tools/measure.ts';

const CLIENTS = 1000;
const SHORT_CLIENTS = 200;
const PROCESSES = 4;
/** How long the shipped systemd unit waits before it restarts a relay. */
const RESTART_MS = 1000;
/** ms for all clients to be online at first, and seconds after which a missing client will never return. */
const ONLINE_MS = 60_000;
const GIVE_UP_SECONDS = 60;
const PROGRAM = fileURLToPath(new URL('../tools/engine-clients.ts', import.meta.url));

type Figure = 'soon' | 'last' | 'peak' | 'unserved';

torture<Figure>({
  name: 'kill-relay',
  title: `A relay with ${CLIENTS} clients is killed with \`kill -9\`, and a new relay starts ${RESTART_MS / 1000} s later`,
  thresholds: {
    soon: { meaning: 'clients reconnected within 10 s, %', atLeast: 99, onlyWhole: true },
    last: { meaning: 'time until all clients have reconnected, s', atMost: 30, onlyWhole: true },
    peak: {
      meaning: 'reconnects in the busiest second, relative to the mean',
      atMost: 3,
      onlyWhole: true,
    },
    unserved: { meaning: 'tunnels that did not work afterwards', atMost: 0 },
  },

  async run({ scope, short, say }) {
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const { relay, key, tunnels } = await startWithTunnels(scope, short ? SHORT_CLIENTS : CLIENTS);
    const clients = new Clients(scope, relay, key, service.port, tunnels);
    await clients.onlineSince(0, ONLINE_MS);
    say(`${tunnels.length} clients are online`);

    const killed = Date.now();
    relay.child.kill('SIGKILL');
    await relay.child.exit();
    await delay(RESTART_MS);
    await relay.restart();
    const faults = new Faults();
    const seconds = await clients
      .onlineSince(killed, GIVE_UP_SECONDS * 1000)
      .then((times) => times.map((time) => (time - killed) / 1000))
      .catch((error: unknown) => (faults.add('last', String(error)), []));
    say(`the first is back after ${seconds[0]} s, the last after ${seconds.at(-1)} s`);
    await inParallel(20, tunnels, async (tunnel) => {
      const { status } = await visit(relay.port, { host: hostOf(tunnel, relay) });
      if (status !== 200) faults.add('unserved', `${tunnel.slug} answers ${status}`);
    });
    return {
      figures: { ...returnsOf(seconds, tunnels.length), ...faults.counts('unserved') },
      faults: faults.first,
      done: `${tunnels.length} client sessions in ${PROCESSES} processes`,
    };
  },
});

/** A relay whose database has this many tunnels of one account. */
async function startWithTunnels(
  scope: Scope,
  count: number,
): Promise<{ readonly relay: Relay; readonly key: string; readonly tunnels: readonly Tunnel[] }> {
  const relay = await Relay.start(scope);
  const { api, key } = await createAccount(relay, { plan: 'team' });
  const first = await api.create({ local_port: 1 });
  await relay.stop();
  addTunnels(relay, first, count - 1);
  await relay.restart();
  return { relay, key, tunnels: await api.list() };
}

class Clients {
  readonly #programs: readonly Child[];
  readonly #count: number;

  constructor(scope: Scope, relay: Relay, key: string, port: number, tunnels: readonly Tunnel[]) {
    this.#count = tunnels.length;
    this.#programs = Array.from({ length: PROCESSES }, (_, turn) => {
      const mine = tunnels.filter((_tunnel, index) => index % PROCESSES === turn);
      const ids = mine.map(({ id }) => `${id}\n`).join('');
      const program = runScript(PROGRAM, [relay.url, key, String(port)], {}, ids);
      scope.defer(() => program.stop('SIGKILL'));
      return program;
    });
  }

  /**
   * Waits until each client has been online since then.
   *
   * @param since ms since the epoch
   * @returns when each was online first, sorted, in ms since the epoch
   */
  async onlineSince(since: number, ms: number): Promise<number[]> {
    return await eventually(ms, () => {
      const times = new Map<string, number>();
      for (const line of this.#programs.flatMap(({ lines }) => lines)) {
        const [, id = '', at = ''] = line.split(' ');
        if (Number(at) > since && !times.has(id)) times.set(id, Number(at));
      }
      if (times.size < this.#count) throw new Error(`${times.size} of ${this.#count} clients are online`);
      return [...times.values()].toSorted((a, b) => a - b);
    });
  }
}

/** @param seconds from the kill to each return, sorted */
function returnsOf(seconds: readonly number[], clients: number): Record<'soon' | 'last' | 'peak', number> {
  const last = seconds.at(-1) ?? NaN;
  // If all are within one second, that is both the peak and the mean.
  const span = Math.max(1, last - (seconds[0] ?? NaN));
  return {
    soon: (100 * seconds.filter((each) => each <= 10).length) / clients,
    last,
    peak: mostWithin(seconds, 1) / (seconds.length / span),
  };
}
