import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { addAccounts, addTunnels } from '../support/database.ts';
import { timed } from '../support/deadline.ts';
import { Load } from '../support/load.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const KILLS = 20;
/** creates and closes that are acknowledged before each kill, with more of them under way */
const ACKNOWLEDGED = 1000;
/** A new relay lets each account create five at once. */
const ACCOUNTS = 240;
const CREATES_EACH = 5;
const AT_ONCE = 16;
const STORED_TUNNELS = 10_000;

/** What the relay has acknowledged of one account's tunnels. */
class Ledger {
  readonly api: Api;
  /** id to the `expires_at` that was acknowledged last */
  readonly open = new Map<string, string>();
  readonly closed = new Set<string>();
  /** tunnels of which the last operation was not answered */
  readonly unsure = new Set<string>();
  unansweredCreates = 0;

  constructor(api: Api) {
    this.api = api;
  }

  /** Closes what is left of before, and creates anew, until something is not answered. */
  async work(onAcknowledged: () => void): Promise<void> {
    for (const id of this.open.keys()) await this.#close(id, onAcknowledged);
    for (let count = 0; count < CREATES_EACH; count += 1) {
      this.unansweredCreates += 1;
      const { id, expires_at } = await this.api.create({ local_port: 1 });
      this.unansweredCreates -= 1;
      this.open.set(id, expires_at);
      onAcknowledged();
      if (count === 1) await this.#extend(id);
      if (count % 4 === 0) await this.#close(id, onAcknowledged);
    }
  }

  async #extend(id: string): Promise<void> {
    this.open.set(id, (await this.api.extend(id, { ttl: '2h' })).expires_at);
  }

  async #close(id: string, onAcknowledged: () => void): Promise<void> {
    this.unsure.add(id);
    await this.api.close(id);
    this.unsure.delete(id);
    this.open.delete(id);
    this.closed.add(id);
    onAcknowledged();
  }

  /** Compares with what a new relay knows, and goes on from there. Returns what was acknowledged and is lost. */
  async settle(): Promise<string[]> {
    const lost: string[] = [];
    const found = new Map((await this.api.list()).map(({ id, expires_at }) => [id, expires_at]));
    for (const [id, expiresAt] of this.open) {
      const stored = found.get(id);
      if (stored === undefined && !this.unsure.has(id)) lost.push(`${id} was created`);
      // An extension that was not answered may have been stored.
      if (stored !== undefined && stored < expiresAt) lost.push(`${id} was extended`);
    }
    for (const id of this.closed) if (found.has(id)) lost.push(`${id} was closed`);
    const unknown = [...found.keys()].filter((id) => !this.open.has(id));
    if (unknown.length > this.unansweredCreates) lost.push(`${unknown.join()} came from nowhere`);
    this.open.clear();
    for (const [id, expiresAt] of found) this.open.set(id, expiresAt);
    this.unsure.clear();
    this.unansweredCreates = 0;
    return lost;
  }
}

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
  }).timeout(300_000);

  it('loses at most the last second of counting', async () => {
    const relay = await Relay.start(scope);
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const host = hostOf(culvert.tunnel, relay);
    for (let kill = 0; kill < 3; kill += 1) {
      const { requests: before } = await new Api(relay, relay.bootstrapKey).get(culvert.tunnel.id);
      const answered: number[] = [];
      const load = new Load(relay.port, 100, 10, () => ({ host }));
      load.onAnswer = () => answered.push(performance.now());
      // Not a multiple of the second in which counters are stored.
      await delay(2300 + kill * 370);
      const killedAt = performance.now();
      relay.child.kill('SIGKILL');
      await relay.child.exit();
      await load.stop();
      await relay.restart();
      const { requests } = await new Api(relay, relay.bootstrapKey).get(culvert.tunnel.id);
      const due = answered.filter((at) => at < killedAt - 1000).length;
      assert.ok(due > 100, `only ${due} requests`);
      assert.ok(
        requests - before >= due,
        `${requests - before} counted of ${due} that were answered in time`,
      );
    }
  });
});

/** Kills the relay once enough was acknowledged, at a moment that differs from time to time. */
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
          // The relay is gone, and so is the answer.
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
