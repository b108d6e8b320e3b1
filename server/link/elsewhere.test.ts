import assert from 'node:assert/strict';
import type { Announced, Announcement, Presence } from '../cluster/presence.ts';
import { ALONE } from '../cluster/presence.ts';
import { CLAIM_GRACE_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { DialFault } from '../tunnels/stream.ts';
import { Hub } from './hub.ts';

const tunnel = { id: 'one', account: anAccount() } as unknown as LiveTunnel;

function sent(fence: number): Announced {
  return { kind: 'sent', keyId: 'key', fence };
}

describe('Hub, for visitors whose client is on another relay', () => {
  let asked: Announcement[];
  let clock: FakeClock;
  let hub: Hub;

  beforeEach(() => {
    asked = [];
    const presence: Presence = {
      ...ALONE,
      hasOthers: true,
      announce: (_tunnel, announcement) => asked.push(announcement),
    };
    clock = new FakeClock();
    hub = new Hub(clock, 0, presence);
    hub.dial(tunnel, { opened: () => assert.fail(), failed: () => assert.fail() });
  });

  /** Answers the last time another relay was asked. */
  function reply(result: Announced): void {
    asked.at(-1)?.announced(result);
  }

  it('has each announced once on each control socket, in whatever order it hears of both', () => {
    hub.cameElsewhere(tunnel.id, 5);
    reply(sent(5));
    hub.cameElsewhere(tunnel.id, 5);
    assert.equal(asked.length, 1);
    hub.cameElsewhere(tunnel.id, 6);
    reply(sent(6));
    assert.equal(asked.length, 2);
  });

  it('asks again when the client has come while it was asking', () => {
    hub.cameElsewhere(tunnel.id, 5);
    reply({ kind: 'away', ms: 0 });
    assert.equal(asked.length, 2);
    hub.cameElsewhere(tunnel.id, 6);
    reply(sent(5));
    assert.equal(asked.length, 3);
    reply(sent(6));
    assert.equal(asked.length, 3);
  });

  it('asks once more when a client comes for which it waits', () => {
    reply({ kind: 'away', ms: 0 });
    assert.equal(asked.length, 1);
    hub.cameElsewhere(tunnel.id, 5);
    assert.equal(asked.length, 2);
  });

  it('waits 1 s for the word of a relay to which a client that nobody knows may just have come', () => {
    const faults: DialFault[] = [];
    hub.dial(tunnel, { opened: () => assert.fail(), failed: (fault) => faults.push(fault) });
    reply({ kind: 'away', ms: 60_000 });
    clock.advance(CLAIM_GRACE_MS - 1);
    assert.deepEqual(faults, []);
    clock.advance(1);
    assert.deepEqual(faults, ['tunnel-offline']);
    assert.equal(CLAIM_GRACE_MS, 1000);
  });

  it('asks nobody for what is not waiting any more', () => {
    const dial = hub.dial(tunnel, { opened: () => assert.fail(), failed: () => assert.fail() });
    dial.cancel();
    asked.at(-1)?.announced({ kind: 'away', ms: 0 });
    asked.at(0)?.announced(sent(5));
    hub.cameElsewhere(tunnel.id, 5);
    assert.equal(asked.length, 2);
  });
});
