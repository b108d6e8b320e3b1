import assert from 'node:assert/strict';
import { notRun } from '../../shared/testing/posix.ts';
import { Authority, Pebble } from '../support/certificates.ts';
import { createNamed, FaultyAuthority, shake } from '../support/certified-relay.ts';
import { databasePath, openRelayDatabase, openWaiting } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { workersOf } from '../support/processes.ts';
import { type Environment, RelayProgram } from '../support/programs.ts';
import { type Scope, testScope } from '../support/scope.ts';
import { ChangingClock, fillDisk, smallDisk } from '../support/small-disk.ts';

const OWN = 'relay.test';
const WEB = 'web.tunnels.test';
const ISSUED = /"msg":"certificate issued"/g;

function start(scope: Scope, pebble: Pebble, settings: Environment = {}): Promise<RelayProgram> {
  return RelayProgram.start(scope, {
    ...pebble.settings,
    CULVERT_PUBLIC_URL: `https://${OWN}:${pebble.tlsPort}`,
    CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    ...settings,
  });
}

/** After a checkpoint, a certificate would fit into the log of the database, even if the disk is full. */
function emptyLog(relay: RelayProgram): void {
  const database = openWaiting(databasePath(relay));
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
}

/** Waits until a host is served with a certificate of the authority's current root. */
async function certified(pebble: Pebble, host = OWN): Promise<void> {
  const root = await pebble.root();
  await eventually(120_000, async () => {
    const { authorized, certificate } = await shake(pebble.tlsPort, host, root);
    assert.ok(authorized);
    assert.equal(certificate.subjectaltname, `DNS:${host}`);
  });
}

/** @returns a function that reads the names of the certificates that a restart would find */
async function storedBy(scope: Scope, relay: RelayProgram): Promise<() => Promise<unknown[]>> {
  const database = await openRelayDatabase(scope, relay);
  return async () => {
    const rows = await database.rows('select name from certificates order by name');
    return rows.map(({ name }) => name);
  };
}

/** Several visitors of a host that has no certificate, all refused. */
async function refused(pebble: Pebble, host: string): Promise<void> {
  const root = await pebble.root();
  for (let visitor = 0; visitor < 20; visitor += 1)
    await assert.rejects(shake(pebble.tlsPort, host, root), /handshake failure/);
}

describe('certificates', function () {
  this.timeout(300_000);
  const scope = testScope();

  it('are ordered and renewed with a new account if the authority has forgotten everything', async () => {
    const pebble = await Pebble.start(scope, { validity: 60 });
    const relay = await start(scope, pebble);
    await certified(pebble);
    await pebble.restart();
    // The authority's signing key is also new: this is a renewed certificate.
    await certified(pebble);
    await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, 'web', await pebble.root());
    await certified(pebble, WEB);
    assert.ok(pebble.lines.some((line) => line.includes('There are now 1 accounts in memory')));
  });

  it('are not ordered repeatedly while the clock is a day ahead, and arrive once it is right', async () => {
    const pebble = await Pebble.start(scope, { validity: 3600 });
    const clock = new ChangingClock(scope, '+1d');
    const relay = await start(scope, pebble, clock.environment);
    await relay.child.printed(/"name":"relay.test",[^\n]*"msg":"clock off"/);
    await refused(pebble, OWN);
    assert.equal(pebble.orders, 1);
    // Checks for due orders find nothing to do until these 3 minutes are over.
    clock.set('+86600');
    await eventually(60_000, () => assert.equal(pebble.orders, 2));
    await eventually(60_000, () => assert.equal(relay.child.output.match(ISSUED)?.length, 2));
    const stored = await storedBy(scope, relay);
    await eventually(60_000, async () => assert.deepEqual(await stored(), []));
    await refused(pebble, OWN);
    clock.set('+0');
    await certified(pebble);
    // One more, unless the relay still has the last one, which is now valid.
    assert.ok(pebble.orders <= 3, `${pebble.orders} orders`);
  });

  it('are ordered by one of several processes, also when each of them has been killed', async () => {
    const pebble = await Pebble.start(scope, { validity: 3600 });
    const clock = new ChangingClock(scope, '+1d');
    const relay = await start(scope, pebble, { ...clock.environment, CULVERT_WORKERS: '3' });
    await relay.child.printed(/"name":"relay.test",[^\n]*"msg":"clock off"/);
    assert.equal(pebble.orders, 1);
    // An order whose process is killed before that is held for minutes.
    const database = await openRelayDatabase(scope, relay);
    await eventually(60_000, async () => {
      const [order] = await database.rows('select "heldUntil" from acme_orders');
      assert.equal(order?.['heldUntil'], 0);
    });
    for (const worker of workersOf(relay.child.pid)) {
      process.kill(worker, 'SIGKILL');
      await eventually(20_000, () => {
        const now = workersOf(relay.child.pid);
        assert.equal(now.length, 3);
        assert.ok(!now.includes(worker));
      });
    }
    // A process that takes over tries immediately.
    await eventually(60_000, () => assert.equal(pebble.orders, 2));
    await refused(pebble, OWN);
    assert.equal(pebble.orders, 2);
  });

  it('are used by a relay whose clock is a day behind, with a warning in its log', async () => {
    const authority = new Authority(scope, new ChangingClock(scope, '-36h').environment);
    const pebble = await Pebble.start(scope, { authority });
    const relay = await start(scope, pebble, new ChangingClock(scope, '-1d').environment);
    await certified(pebble);
    await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, 'web', await pebble.root());
    await certified(pebble, WEB);
    assert.equal(pebble.orders, 2);
    await relay.child.printed(/"name":"relay.test",[^\n]*"msg":"clock off"/);
  });

  it('reach a relay whose clock is so far behind that it trusts no authority, once its clock is right', async () => {
    const pebble = await Pebble.start(scope);
    const clock = new ChangingClock(scope, '-1d');
    const relay = await start(scope, pebble, clock.environment);
    await relay.child.printed(/"error":"[^"]*not yet valid[^"]*",[^\n]*"msg":"certificate order failed"/);
    await refused(pebble, OWN);
    assert.equal(pebble.orders, 0);
    clock.set('+0');
    await certified(pebble);
    assert.equal(pebble.orders, 1);
  });

  it('are used by all processes while the disk is full, stored once it is not, and not ordered again', async function () {
    const disk = smallDisk(scope);
    if (disk === undefined) notRun(this, 'only root may mount');
    const pebble = await Pebble.start(scope, { nonceReject: 30 });
    const authority = await FaultyAuthority.start(scope, pebble);
    const settings = {
      CULVERT_ACME_DIRECTORY: authority.directory,
      CULVERT_DATA_DIR: disk,
      CULVERT_WORKERS: '3',
    };
    const relay = await start(scope, pebble, settings);
    await certified(pebble);
    const root = await pebble.root();
    await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, 'web', root);
    let empty: (() => void) | undefined;
    authority.before = (path) => {
      // Requested again if the authority refuses a nonce.
      if (!path.startsWith('/certZ/') || empty !== undefined) return;
      emptyLog(relay);
      empty = fillDisk(disk);
    };
    await certified(pebble, WEB);
    await relay.child.printed(/"name":"web.tunnels.test",[^\n]*"msg":"certificate not stored"/);
    for (let visitor = 0; visitor < 20; visitor += 1)
      assert.ok((await shake(pebble.tlsPort, WEB, root)).authorized);
    empty?.();
    const stored = await storedBy(scope, relay);
    await eventually(150_000, async () => assert.deepEqual(await stored(), [OWN, WEB]));
    await relay.stop('SIGKILL');
    await relay.restart();
    await certified(pebble, WEB);
    assert.equal(pebble.orders, 2);
  });
});
