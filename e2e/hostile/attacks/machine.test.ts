/** A machine that fails while a relay works. Nothing that the relay acknowledged may be lost. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../support/accounts.ts';
import { Api } from '../../support/api.ts';
import { startProgram } from '../../support/child.ts';
import { addAccounts, databasePath, openRelayDatabase } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import { describeFailure, Ledger, Load, tallyOf } from '../../support/load.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay, temporaryDirectory } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import { Scope, suiteScope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { ChangingClock, fillDisk, smallDisk } from '../../support/small-disk.ts';
import { inParallel } from './attack.ts';

/** Accounts that create, extend and close tunnels: half of them before the fault, half during it. */
const ACCOUNTS = 40;
const AT_ONCE = 8;
/** ms for which a fault lasts at least: longer than a statement waits for a lock, so that some time out. */
const FAULT_MS = 1500;
const RETRY_MS = 100;
const HEAL_MS = 30_000;
const REQUESTS_A_SECOND = 20;
const VISITORS = 4;
/** Lifetimes long enough for any wrong clock. */
const TTL = { CULVERT_DEFAULT_TTL: '2000h', CULVERT_MAX_TTL: '4000h' };

interface MachineFault {
  readonly name: string;
  /** Whether a relay can start while the fault lasts. */
  readonly lasting?: boolean;
  /** @param scope whose end ends the fault */
  begin(scope: Scope, relay: Relay): Promise<void>;
}

describe('a relay on a machine that fails', () => {
  const scope = suiteScope();

  it('loses nothing it has acknowledged, serves its visitors, and recovers by itself', async () => {
    const clock = new ChangingClock(scope);
    const disk = smallDisk(scope);
    const settings = { ...TTL, ...clock.environment, CULVERT_DATA_DIR: disk ?? temporaryDirectory(scope) };
    const relay = await Relay.start(scope, settings);
    const faults = faultsOf(clock, disk !== undefined);
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const account = await createAccount(relay, { plan: 'team' });
    const culvert = await Culvert.start(scope, relay, account.key, service.port, [], clock.environment);
    const host = hostOf(culvert.tunnel, relay);
    await relay.stop();
    const keys = addAccounts(relay, account, faults.length * ACCOUNTS);
    await relay.restart();

    const all: Ledger[] = [];
    const lost: string[] = [];
    for (const fault of faults) {
      const ledgers = keys.splice(0, ACCOUNTS).map((key) => new Ledger(new Api(relay, key)));
      all.push(...ledgers);
      let acknowledged = 0;
      const onAcknowledged = (): void => void (acknowledged += 1);
      const [before, during] = [ledgers.slice(0, ACCOUNTS / 2), ledgers.slice(ACCOUNTS / 2)];
      await inParallel(AT_ONCE, before, (ledger) => ledger.work(onAcknowledged));
      await eventually(HEAL_MS, async () => assert.equal((await visit(relay.port, { host })).text, 'ok'));
      const part = new Scope();
      try {
        const load = new Load(relay.port, REQUESTS_A_SECOND, VISITORS, () => ({ host }));
        const start = performance.now();
        await fault.begin(part, relay);
        await inParallel(during.length, during, async (ledger) => {
          // A create that is refused now does not count as lost.
          while (performance.now() < start + FAULT_MS)
            await ledger.work(onAcknowledged).catch(() => delay(RETRY_MS));
        });
        await load.stop();
        const { failed } = tallyOf(load.asked, () => 'ok');
        assert.deepEqual(
          failed.map((asked) => describeFailure(asked, start)),
          [],
          fault.name,
        );
        for (const { child } of [relay, culvert])
          assert.ok(!child.hasExited, `${fault.name}: ${child.stderr}`);
        if (fault.lasting === true) await killed(relay);
      } finally {
        await part.end();
      }
      await eventually(HEAL_MS, () => account.api.extend(culvert.tunnel.id, { ttl: '1s' }));
      if (fault.lasting !== true) await killed(relay);
      for (const ledger of ledgers)
        lost.push(...(await ledger.settle()).map((each) => `${fault.name}: ${each}`));
      assert.ok(acknowledged >= ACCOUNTS, `${fault.name}: ${acknowledged} acknowledged`);
    }
    // State that survived one fault may be lost in another.
    for (const ledger of all) lost.push(...(await ledger.settle()).map((each) => `in the end: ${each}`));
    assert.deepEqual(lost, []);
  });
});

/** kill -9, followed by a restart. */
async function killed(relay: Relay): Promise<void> {
  relay.child.kill('SIGKILL');
  await relay.child.exit();
  await relay.restart();
}

function faultsOf(clock: ChangingClock, hasDisk: boolean): MachineFault[] {
  const fullDisk: MachineFault = {
    name: 'a full disk',
    begin: async (scope, { dataDirectory }) => scope.defer(fillDisk(dataDirectory)),
  };
  return [
    ...(hasDisk ? [fullDisk] : []),
    failingCalls('fsync,fdatasync', 'error=EIO'),
    failingCalls('pwrite64', 'error=ENOSPC'),
    {
      name: 'a locked database',
      async begin(scope, relay) {
        const database = await openRelayDatabase(scope, relay);
        await database.holdWrites();
        scope.defer(() => database.release());
      },
    },
    {
      name: 'a clock 30 days ahead',
      lasting: true,
      async begin(scope) {
        clock.set('+30d');
        scope.defer(() => clock.set('+0'));
      },
    },
  ];
}

/**
 * Makes system calls on the database and its log fail, with strace.
 *
 * @param calls as strace names them, with commas
 * @param fault what they do instead, in the syntax of strace's `inject`
 */
function failingCalls(calls: string, fault: string): MachineFault {
  return {
    name: `${fault} injected into ${calls}`,
    async begin(scope, relay) {
      const { pid } = relay.child;
      const path = databasePath(relay);
      const on = [path, `${path}-wal`].flatMap((file) => ['-P', file]);
      const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`];
      const args = ['-f', '-qq', '-o', '/dev/null', '-p', String(pid), ...on, ...inject];
      const strace = startProgram(scope, 'strace', args);
      await eventually(10_000, () => {
        const tracer = /^TracerPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        assert.equal(tracer, String(strace.pid), strace.output);
      });
    },
  };
}
