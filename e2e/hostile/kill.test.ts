import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { addAccounts, addTunnels } from '../support/database.ts';
import { eventually, timed } from '../support/deadline.ts';
import { latenessOf, Ledger, Load } from '../support/load.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const KILLS = 5;
/** creates and closes that are acknowledged before each kill, with more in progress */
const ACKNOWLEDGED = 1000;
const ACCOUNTS = 240;
const AT_ONCE = 16;
const STORED_TUNNELS = 10_000;
/** requests that get their response more than a second before a kill */
const ANSWERED = 100;

describe('a relay that is killed', () => {
  const scope = suiteScope();

  it(`${KILLS} times during ${ACKNOWLEDGED} creates and closes loses nothing it has acknowledged`, async () => {
    const relay = await Relay.start(scope);
    const first = await createAccount(relay, { plan: 'team' });
    const tunnel = await first.api.create({ local_port: 1, ttl: '168h' });
    await relay.stop();
    addTunnels(relay, tunnel, STORED_TUNNELS);
    const ledgers = addAccounts(relay, first, ACCOUNTS).map((key) => new Ledger(new Api(relay, key)));
    const starts = [(await timed(() => relay.restart())).ms];
    const lost: string[] = [];
    let acknowledged = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      acknowledged += await killDuring(relay, ledgers, kill);
      starts.push((await timed(() => relay.restart())).ms);
      for (const ledger of ledgers) lost.push(...(await ledger.settle()));
    }
    starts.sort((a, b) => a - b);
    const slowest = starts.at(-1) ?? 0;
    console.log(
      `      ${acknowledged} acknowledged, ${lost.length} of them lost; start with ${STORED_TUNNELS} tunnels: ` +
        `median ${Math.round(starts[starts.length >> 1] ?? 0)} ms, slowest ${Math.round(slowest)} ms`,
    );
    assert.deepEqual(lost, []);
    assert.ok(acknowledged >= KILLS * ACKNOWLEDGED, `only ${acknowledged} acknowledged`);
    assert.equal((await first.api.list()).length, STORED_TUNNELS + 1);
  }).timeout(1_200_000);

  it('loses at most the last second of the counters', async () => {
    const relay = await Relay.start(scope);
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const host = hostOf(culvert.tunnel, relay);
    for (let kill = 0; kill < 3; kill += 1) {
      const { requests: before } = await new Api(relay, relay.bootstrapKey).get(culvert.tunnel.id);
      const answered: number[] = [];
      const load = new Load(relay.port, 100, 10, () => ({ host }));
      load.onResponse = () => answered.push(performance.now());
      await eventually(60_000, () => assert.ok(answered.length >= ANSWERED));
      // Later requests may be lost. Not a multiple of the second at which counters are stored.
      await delay(1300 + kill * 370);
      // A busy machine takes longer.
      let killedAt = 0;
      let due = 0;
      await eventually(60_000, () => {
        killedAt = performance.now();
        due = answered.filter((at) => at < killedAt - 1000 - latenessOf(load.asked, killedAt)).length;
        assert.ok(due >= ANSWERED, `only ${due} requests`);
      });
      relay.child.kill('SIGKILL');
      await relay.child.exit();
      await load.stop();
      await relay.restart();
      const { requests } = await new Api(relay, relay.bootstrapKey).get(culvert.tunnel.id);
      assert.ok(
        requests - before >= due,
        `${requests - before} counted of ${due} that were answered in time`,
      );
    }
  });
});

/** Kills the relay once enough was acknowledged, at a moment that varies. */
async function killDuring(relay: Relay, ledgers: readonly Ledger[], turn: number): Promise<number> {
  let acknowledged = 0;
  const onAcknowledged = (): void => {
    acknowledged += 1;
    if (acknowledged === ACKNOWLEDGED) setTimeout(() => relay.child.kill('SIGKILL'), turn % 7);
  };
  const queue = [...ledgers];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let ledger = queue.pop(); ledger !== undefined; ledger = queue.pop()) {
        try {
          await ledger.work(onAcknowledged);
        } catch (error) {
          // The relay died before it responded.
          assert.match(String(error), /ECONN|EPIPE|ended|before|no bytes/i);
          return;
        }
      }
    }),
  );
  assert.ok(acknowledged >= ACKNOWLEDGED, `only ${acknowledged} acknowledged, so that no kill came`);
  await relay.child.exit();
  return acknowledged;
}
