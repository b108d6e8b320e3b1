import assert from 'node:assert/strict';
import { CloseCode } from '../../shared/control.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import { TrunkClient } from '../testing/trunk-client.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, DialFault } from '../tunnels/stream.ts';
import { EARLIER_TRUNK_ANSWER_MS } from './client-trunks.ts';
import { PROBLEM_INTERVAL_MS } from './client.ts';
import { CLAIM_LOOK_MS, Hub } from './hub.ts';
import { ALONE, type Announced, type Found, type Ownership, RELAY_LEASE_MS } from './ownership.ts';
import { CLAIM_GRACE_MS } from './waiting-visitors.ts';

const tunnel = { id: 'one', account: anAccount(), countIn() {} } as unknown as LiveTunnel;

function sent(fence: number): Announced {
  return { kind: 'sent', keyId: 'key', fence };
}

/** Waits until everything that is in progress in memory is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('Hub, for visitors whose client is on another relay', () => {
  let asked: ((result: Announced) => void)[];
  /** lines of problems for other relays */
  let problems: string[];
  let clock: FakeClock;
  let hub: Hub;

  beforeEach(() => {
    asked = [];
    problems = [];
    const ownership: Ownership = {
      ...ALONE,
      hasOthers: true,
      announce: (_tunnel, _id, announced) => asked.push(announced),
      tellProblem: (_tunnel, { detail }) => problems.push(detail),
    };
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership });
    hub.dial(tunnel, { opened: () => assert.fail(), failed: () => assert.fail() });
  });

  /** Replies to the last request to another relay. */
  function reply(result: Announced): void {
    asked.at(-1)?.(result);
  }

  it('has each connection announced once on each control socket, whichever relay reports first', () => {
    hub.get(tunnel.id)?.cameElsewhere(5);
    reply(sent(5));
    hub.get(tunnel.id)?.cameElsewhere(5);
    assert.equal(asked.length, 1);
    hub.get(tunnel.id)?.cameElsewhere(6);
    reply(sent(6));
    assert.equal(asked.length, 2);
  });

  it('passes on what is wrong with the local service, at most once a second or once', () => {
    const client = hub.get(tunnel.id);
    for (const [detail, ms] of [
      ['1', PROBLEM_INTERVAL_MS - 1],
      ['2', 1],
      ['3', 0],
    ] as const) {
      client?.tellProblem({ code: 'local-malformed', detail });
      client?.tellProblem({ code: 'path-cookie', detail: `cookie ${detail}` });
      clock.advance(ms);
    }
    assert.deepEqual(problems, ['1', 'cookie 1', '3']);
  });

  it('asks again if the client has connected in the meantime', () => {
    hub.get(tunnel.id)?.cameElsewhere(5);
    reply({ kind: 'away', ms: 0 });
    assert.equal(asked.length, 2);
    hub.get(tunnel.id)?.cameElsewhere(6);
    reply(sent(5));
    assert.equal(asked.length, 3);
    reply(sent(6));
    assert.equal(asked.length, 3);
  });

  it('asks once more when an awaited client connects', () => {
    reply({ kind: 'away', ms: 0 });
    assert.equal(asked.length, 1);
    hub.get(tunnel.id)?.cameElsewhere(5);
    assert.equal(asked.length, 2);
  });

  it('waits 1 s for the report of a relay that an unknown client may just have connected to', () => {
    const faults: DialFault[] = [];
    hub.dial(tunnel, { opened: () => assert.fail(), failed: (fault) => faults.push(fault) });
    reply({ kind: 'away', ms: 60_000 });
    clock.advance(CLAIM_GRACE_MS - 1);
    assert.deepEqual(faults, []);
    clock.advance(1);
    assert.deepEqual(faults, ['tunnel-offline']);
    assert.equal(CLAIM_GRACE_MS, 1000);
  });

  it('stops asking for connections that no longer wait', () => {
    const dial = hub.dial(tunnel, { opened: () => assert.fail(), failed: () => assert.fail() });
    dial.cancel();
    asked.at(-1)?.({ kind: 'away', ms: 0 });
    asked.at(0)?.(sent(5));
    hub.get(tunnel.id)?.cameElsewhere(5);
    assert.equal(asked.length, 2);
  });
});

describe('Hub, for trunks of a client whose control socket is on another relay', () => {
  const key = { keyId: 'key', hash: 'hash' };
  let found: Found;
  let asked: number;
  let clock: FakeClock;
  let hub: Hub;

  beforeEach(async () => {
    found = { kind: 'there', fence: 5 };
    asked = 0;
    const find = (): Promise<Found> => {
      asked += 1;
      return Promise.resolve(found);
    };
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: { ...ALONE, hasOthers: true, find } });
    assert.equal(await hub.findClient(tunnel, key), true);
  });

  /** @returns the codes that the client's end is closed with */
  function offer(): readonly number[] {
    const client = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(client.socket, key);
    return client.closed;
  }

  it('accepts them for visitors on this relay, up to the limit, without asking again', async () => {
    assert.deepEqual([hub.offers(tunnel), hub.get(tunnel.id)?.offerKey], ['welcome', key]);
    offer();
    offer();
    assert.equal(hub.offers(tunnel), 'full');
    let opened = 0;
    hub.dial(tunnel, { opened: () => (opened += 1), failed: () => assert.fail() });
    await settled();
    assert.deepEqual([opened, asked], [1, 1]);
  });

  it('closes them when the client has a newer control socket, and keeps those of the newest', async () => {
    const closed = offer();
    hub.get(tunnel.id)?.cameElsewhere(5);
    await settled();
    assert.deepEqual(closed, []);
    hub.get(tunnel.id)?.cameElsewhere(6);
    await settled();
    assert.deepEqual([closed, hub.offers(tunnel)], [[CloseCode.normal], 'offline']);
  });

  it('gives up those that do not answer when the client has a newer control socket, known or not', async () => {
    for (const leaves of [() => {}, () => hub.get(tunnel.id)?.leftElsewhere()]) {
      const client = new TrunkClient({ isThere: false });
      hub.get(tunnel.id)?.addTrunk(client.socket, key);
      const ends: unknown[] = [];
      const onEnded = (clean: boolean, lost?: boolean): void => void ends.push([clean, lost]);
      const opened = (stream: ByteStream): void => {
        stream.write(Buffer.from('GET'));
        stream.attach({ onBytes() {}, onRoom() {}, onEnded });
      };
      hub.dial(tunnel, { opened, failed: () => assert.fail() });
      await settled();
      leaves();
      hub.get(tunnel.id)?.cameElsewhere(6);
      clock.advance(EARLIER_TRUNK_ANSWER_MS - 1);
      assert.deepEqual(ends, []);
      clock.advance(1);
      assert.deepEqual(ends, [[false, true]]);
      await hub.findClient(tunnel, key);
    }
  });

  it('closes them with the control socket, and when clients may have moved unnoticed', async () => {
    const left = offer();
    hub.get(tunnel.id)?.leftElsewhere();
    await hub.findClient(tunnel, key);
    const unsure = offer();
    hub.resume();
    await settled();
    assert.deepEqual([left, unsure], [[CloseCode.normal], [CloseCode.normal]]);
    assert.equal(hub.offers(tunnel), 'offline');
  });

  it('closes them with 4003 when their key is revoked', async () => {
    const closed = offer();
    assert.deepEqual([...hub.keysInUse()], ['key']);
    hub.revoke(new Map([['key', 'revoked']]));
    await settled();
    assert.deepEqual([closed, hub.offers(tunnel)], [[CloseCode.keyRevoked], 'offline']);
  });

  it('asks again after the lease of a relay, which may have died without notice', () => {
    clock.advance(RELAY_LEASE_MS - 1);
    assert.equal(hub.offers(tunnel), 'welcome');
    clock.advance(1);
    assert.equal(hub.offers(tunnel), 'offline');
  });

  it('checks again after 100 ms for a client that may arrive before the report of its control socket', async () => {
    hub.get(tunnel.id)?.leftElsewhere();
    found = { kind: 'nowhere' };
    asked = 0;
    const looking = hub.findClient(tunnel, key);
    await settled();
    clock.advance(CLAIM_LOOK_MS - 1);
    await settled();
    assert.equal(asked, 1);
    found = { kind: 'there', fence: 6 };
    clock.advance(1);
    await looking;
    assert.deepEqual([asked, hub.offers(tunnel), CLAIM_LOOK_MS], [2, 'welcome', 100]);
  });

  it('reports if no relay could be asked', async () => {
    hub.get(tunnel.id)?.leftElsewhere();
    found = { kind: 'apart' };
    assert.equal(await hub.findClient(tunnel, key), false);
    assert.equal(hub.offers(tunnel), 'offline');
  });
});
