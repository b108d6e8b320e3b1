/** A machine that fails while a relay works. Nothing that the relay acknowledged may be lost. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../support/api.ts';
import { startProgram } from '../../support/child.ts';
import { addAccounts, databasePath, openRelayDatabase } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import { describeFailure, Ledger, Load, tallyOf } from '../../support/load.ts';
import { Relay, temporaryDirectory } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { ChangingClock, fillDisk, smallDisk } from '../../support/small-disk.ts';
import { Faults, inParallel, secondsUntilServed } from './measure.ts';
import { startTenant, type Tenant } from './tenants.ts';
import { type RunOptions, testAttack } from './attack.ts';

/** Accounts that create, extend and close tunnels: half of them before the fault, half during it. */
const ACCOUNTS = 40;
const AT_ONCE = 8;
/** Longer than a statement waits for a lock, so that some time out. */
const FAULT_MS = 10_000;
const SHORT_FAULT_MS = 1500;
const RETRY_MS = 100;
const HEAL_MS = 10_000;
const REQUESTS_A_SECOND = 20;
const VISITORS = 4;
/** Lifetimes long enough for any wrong clock. */
const TTL = { CULVERT_DEFAULT_TTL: '2000h', CULVERT_MAX_TTL: '4000h' };

type Figure = 'lost' | 'crashes' | 'unserved' | 'unhealed';

testAttack<Figure>({
  name: 'machine',
  title:
    'While tunnels are created, extended and closed, the disk is full, I/O fails, the database is locked or the clock is changed. After each fault the relay is killed with `kill -9`',
  thresholds: {
    lost: { meaning: 'acknowledged creates, extends and closes that were lost', atMost: 0 },
    crashes: { meaning: 'programs that crashed', atMost: 0 },
    unserved: { meaning: 'visitors of a live tunnel without a response', atMost: 0 },
    unhealed: { meaning: 'faults after which writes failed for more than 10 s', atMost: 0 },
  },

  async run(options) {
    const { scope, short, say } = options;
    const clock = new ChangingClock(scope);
    const disk = smallDisk(scope);
    const relay = await Relay.start(scope, {
      ...TTL,
      ...clock.environment,
      CULVERT_DATA_DIR: disk ?? temporaryDirectory(scope),
    });
    const faults = faultsOf(clock, disk !== undefined, short);
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const tenant = await startTenant(scope, relay, service.port, { environment: clock.environment });
    await relay.stop();
    const keys = addAccounts(relay, tenant.account, faults.length * ACCOUNTS);
    await relay.restart();

    const wrong = new Faults();
    const all: Ledger[] = [];
    let acknowledged = 0;
    for (const fault of faults) {
      const ledgers = keys.splice(0, ACCOUNTS).map((key) => new Ledger(new Api(relay, key)));
      all.push(...ledgers);
      const count = await suffer({ options, relay, tenant, ledgers, wrong }, fault);
      acknowledged += count;
      say(`${fault.name}: ${count} acknowledged`);
    }
    // State that survived one fault may be lost in another.
    for (const ledger of all)
      for (const lost of await ledger.settle()) wrong.add('lost', `in the end: ${lost}`);
    return {
      figures: wrong.counts('lost', 'crashes', 'unserved', 'unhealed'),
      faults: wrong.first,
    };
  },
});

function faultsOf(clock: ChangingClock, hasDisk: boolean, short: boolean): MachineFault[] {
  const rest = [
    failingCalls('fsync,fdatasync', 'error=EIO:when=1+2'),
    failingCalls('pwrite64', 'error=EIO:when=3+5'),
    failingCalls('pread64', 'error=EIO:when=1+2'),
    wrongClock(clock, '+1h'),
    wrongClock(clock, '-1h'),
  ];
  return [
    ...(hasDisk ? [fullDisk] : []),
    failingCalls('fsync,fdatasync', 'error=EIO'),
    failingCalls('pwrite64', 'error=ENOSPC'),
    lockedDatabase,
    ...(short ? [] : rest),
    wrongClock(clock, '+30d'),
  ];
}

interface Stage {
  readonly options: RunOptions;
  readonly relay: Relay;
  readonly tenant: Tenant;
  readonly ledgers: readonly Ledger[];
  readonly wrong: Faults;
}

/**
 * Lets the machine fail during the work, and then kills the relay as well.
 *
 * @returns how much was acknowledged
 */
async function suffer(
  { options, relay, tenant, ledgers, wrong }: Stage,
  fault: MachineFault,
): Promise<number> {
  const add = (figure: Figure, what: string): void => wrong.add(figure, `${fault.name}: ${what}`);
  let acknowledged = 0;
  const onAcknowledged = (): void => void (acknowledged += 1);
  const [before, during] = [ledgers.slice(0, ACCOUNTS / 2), ledgers.slice(ACCOUNTS / 2)];
  await inParallel(AT_ONCE, before, (ledger) => ledger.work(onAcknowledged));
  await secondsUntilServed(relay, tenant.host);

  const scope = new Scope();
  try {
    const load = new Load(relay.port, REQUESTS_A_SECOND, VISITORS, () => ({ host: tenant.host }));
    const start = performance.now();
    await fault.begin(scope, relay);
    const end = start + (options.short ? SHORT_FAULT_MS : FAULT_MS);
    await inParallel(during.length, during, async (ledger) => {
      // A create that is refused now does not count as lost.
      while (performance.now() < end) await ledger.work(onAcknowledged).catch(() => delay(RETRY_MS));
    });
    await load.stop();
    const { failed } = tallyOf(load.asked, () => 'ok');
    for (const asked of failed) add('unserved', describeFailure(asked, start));
    for (const { child } of [relay, tenant.culvert])
      if (child.hasExited) add('crashes', child.stderr.slice(-1000));
    if (fault.lasting) await killed(relay);
  } finally {
    await scope.end();
  }
  const write = (): Promise<unknown> => tenant.account.api.extend(tenant.tunnel.id, { ttl: '1s' });
  await eventually(HEAL_MS, write).catch((error: unknown) => add('unhealed', String(error)));
  if (!fault.lasting) await killed(relay);
  for (const ledger of ledgers) for (const lost of await ledger.settle()) add('lost', lost);
  return acknowledged;
}

/** kill -9, followed by a restart. */
async function killed(relay: Relay): Promise<void> {
  relay.child.kill('SIGKILL');
  await relay.child.exit();
  await relay.restart();
}

/* A fault of the machine that can begin and end while a relay runs. */

export interface MachineFault {
  readonly name: string;
  /** Whether a relay can start while the fault lasts. */
  readonly lasting: boolean;
  /** @param scope whose end ends the fault */
  begin(scope: Scope, relay: Relay): Promise<void>;
}

/** Fills the disk with the relay's data, a `smallDisk`, to its last block. */
export const fullDisk: MachineFault = {
  name: 'a full disk',
  lasting: false,
  begin(scope, { dataDirectory }) {
    const empty = fillDisk(dataDirectory);
    scope.defer(empty);
    return Promise.resolve();
  },
};

/**
 * Makes system calls on the database and its log fail, with strace.
 *
 * @param calls as strace names them, with commas
 * @param fault what they do instead, in the syntax of strace's `inject`
 */
export function failingCalls(calls: string, fault: string): MachineFault {
  return {
    name: `${fault} injected into ${calls}`,
    lasting: false,
    async begin(scope, relay) {
      const { pid } = relay.child;
      const path = databasePath(relay);
      const on = [path, `${path}-wal`].flatMap((file) => ['-P', file]);
      const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`];
      const strace = startProgram(scope, 'strace', [
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-p',
        `${pid}`,
        ...on,
        ...inject,
      ]);
      await eventually(10_000, () => {
        const tracer = /^TracerPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        if (tracer !== String(strace.pid)) throw new Error(`strace does not trace: ${strace.output}`);
      });
    },
  };
}

/** Another program holds a write transaction. */
export const lockedDatabase: MachineFault = {
  name: 'a locked database',
  lasting: false,
  async begin(scope, relay) {
    const database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
    scope.defer(() => database.release());
  },
};

/** @param by offset in the form of libfaketime: `+1h` */
export function wrongClock(clock: ChangingClock, by: string): MachineFault {
  return {
    name: `a clock change of ${by}`,
    lasting: true,
    begin: (scope) => {
      clock.set(by);
      scope.defer(() => clock.set('+0'));
      return Promise.resolve();
    },
  };
}
