/**
 * Two accounts keep the password hashing busy: with wrong passwords at their own tunnels, and with a flood of `PUT
 * access`. Another account's visitors submit the right password, and its client changes settings.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { addTunnels } from '../../support/database.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { torture } from '../torture.ts';
import { Faults } from '../tools/measure.ts';

type Figure =
  'tries' | 'floods' | 'admitted' | 'refused' | 'written' | 'unwritten' | 'slowestVisit' | 'slowestWrite';

const PASSWORD = 'mild oak fern';
/** From the same number of networks. Each pauses after a refusal and starts again. */
const TRIES_AT_A_TIME = 128;
const PAUSE_MS = 200;
const FLOODERS = 2;
/** The maximum of each account's plan. */
const TUNNELS = 20;
/** Concurrent `PUT access` requests of each account, with the maximum number of passwords. */
const CHANGES_AT_A_TIME = 16;
const USERS = 16;
const ROUNDS = 60;
const SHORT_ROUNDS = 6;

torture<Figure>({
  name: 'shared-queues',
  onlyWhole: true,
  title: `${FLOODERS} accounts flood password hashing with ${TRIES_AT_A_TIME} wrong passwords and ${FLOODERS * CHANGES_AT_A_TIME} access changes at a time, while another account's visitors sign in and the account makes changes`,
  thresholds: {
    tries: { meaning: "wrong passwords sent to the attackers' tunnels", atLeast: 250 },
    floods: { meaning: "access changes of the attackers' tunnels", atLeast: CHANGES_AT_A_TIME },
    admitted: { meaning: "other visitors' correct passwords accepted", atLeast: SHORT_ROUNDS },
    refused: { meaning: "other visitors' correct passwords refused", atMost: 0 },
    written: { meaning: "other accounts' writes", atLeast: 2 * SHORT_ROUNDS },
    unwritten: { meaning: "other accounts' writes that failed", atMost: 0 },
    slowestVisit: {
      meaning: 'slowest of the visits with a correct password, ms',
      atMost: 2000,
      onlyWhole: true,
    },
    slowestWrite: { meaning: 'slowest write without a password, ms', atMost: 1000, onlyWhole: true },
  },

  async run({ scope, short, say }) {
    const service = await startHttpService(scope, (_request, response) => response.end('inside'));
    const relay = await Relay.start(scope, {
      CULVERT_TRUST_PROXY: '127.0.0.1',
      CULVERT_ADDRESS_CONNECTIONS: '0',
    });
    const others = await createAccount(relay, { plan: 'team' });
    const accounts: TestAccount[] = [];
    for (let each = 0; each < FLOODERS; each += 1) {
      const account = await createAccount(relay, { plan: 'free' });
      accounts.push(account);
      const first = await account.api.create({ local_port: 1, access: { password: PASSWORD }, ttl: '24h' });
      await relay.stop();
      addTunnels(relay, first, TUNNELS - 1);
      await relay.restart();
    }
    const { tunnel: theirs } = await Culvert.start(scope, relay, others.key, service.port);
    const flooders: [TestAccount, Tunnel[]][] = [];
    for (const account of accounts) flooders.push([account, await account.api.list()]);
    const faults = new Faults();
    const flood = new AbortController();
    let [tries, floods, admitted, written, slowestVisit, slowestWrite] = [0, 0, 0, 0, 0, 0];

    /** Submits a password at a tunnel, from a network. */
    const submit = async (tunnel: Tunnel, from: string, password: string): Promise<number> => {
      const { status } = await visit(relay.port, {
        host: hostOf(tunnel, relay),
        method: 'POST',
        target: '/?culvert_gate',
        headers: [['X-Forwarded-For', from]],
        body: new URLSearchParams({ culvert_password: password }).toString(),
      });
      return status;
    };
    const targets = flooders.flatMap(([, tunnels]) => tunnels);
    const tryPasswords = async (): Promise<void> => {
      while (!flood.signal.aborted) {
        const number = (tries += 1);
        const tunnel = targets[number % targets.length];
        const network = `203.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
        // A flood may be cut. Only the effect on others counts.
        if (tunnel === undefined) return;
        const status = await submit(tunnel, network, `wrong ${number}`).catch(() => 0);
        if (status !== 401) await delay(PAUSE_MS);
      }
    };
    const basic = Array.from({ length: USERS }, (_, each) => ({ user: `user${each}`, password: PASSWORD }));
    const changeAccess = async (account: TestAccount, tunnel: Tunnel): Promise<void> => {
      while (!flood.signal.aborted) {
        floods += 1;
        const changed = await setAccess(account, tunnel, { basic, password: PASSWORD }).catch(
          () => undefined,
        );
        if (changed?.status !== 200) await delay(PAUSE_MS);
      }
    };
    const flooding = [
      ...Array.from({ length: TRIES_AT_A_TIME }, () => tryPasswords()),
      ...flooders.flatMap(([account, tunnels]) =>
        Array.from({ length: CHANGES_AT_A_TIME }, (_, each) =>
          changeAccess(account, tunnels[each % TUNNELS] ?? theirs),
        ),
      ),
    ];
    const write = async (what: string, work: () => Promise<{ status: number }>): Promise<number> => {
      const begin = performance.now();
      const { status } = await work();
      if (status === 200) written += 1;
      else faults.add('unwritten', `${what}: ${status}`);
      return performance.now() - begin;
    };
    const rounds = short ? SHORT_ROUNDS : ROUNDS;
    for (let round = 0; round < rounds; round += 1) {
      // A different policy each time, so that no earlier result is cached.
      await write('access', () => setAccess(others, theirs, { password: PASSWORD }));
      const extended = await write('extend', () =>
        others.api.send('PUT', `/v1/tunnels/${theirs.id}/extend`, { json: { ttl: '1s' } }),
      );
      slowestWrite = Math.max(slowestWrite, extended);
      const begin = performance.now();
      const status = await submit(theirs, `198.51.100.${round % 250}`, PASSWORD);
      slowestVisit = Math.max(slowestVisit, performance.now() - begin);
      if (status === 303) admitted += 1;
      else faults.add('refused', String(status));
      if (round % 10 === 0) say(`${tries} tries, ${floods} changes of access, ${admitted} others admitted`);
    }
    flood.abort();
    await Promise.all(flooding);
    if (relay.child.hasExited) throw new Error(`the relay has ended: ${relay.child.stderr.slice(-2000)}`);
    return {
      figures: {
        tries,
        floods,
        admitted,
        written,
        slowestVisit,
        slowestWrite,
        ...faults.counts('refused', 'unwritten'),
      },
      done: `${rounds} rounds`,
      faults: faults.first,
    };
  },
});

async function setAccess({ api }: TestAccount, { id }: Tunnel, access: object): Promise<{ status: number }> {
  return await api.send('PUT', `/v1/tunnels/${id}/access`, { json: access });
}
