import assert from 'node:assert/strict';
import { RELAY_LEASE_MS } from '../clients/ownership.ts';
import {
  Membership,
  readRecord,
  RELAY_NUMBER_ATTEMPTS,
  StrangerError,
  STRANGERS_MAX,
  writeRecord,
} from './members.ts';
import { RedisError } from './redis-client.ts';
import { LEASE, LEAVE, type Script } from './scripts.ts';

const MEMBERSHIP_SECRET = 's'.repeat(32);

/** A relay's record, in Redis and for the other members. */
function membershipRecord(
  incarnation: string,
  host: string,
  port: number,
  secret = MEMBERSHIP_SECRET,
): string {
  return writeRecord({ incarnation, host, port }, secret);
}

describe('Membership', () => {
  /** Redis's answers to each LEASE, the last one repeatedly */
  let leases: number[];
  let relays: string[];
  let calls: (readonly [Script, ...(string | number)[]])[];
  /** Called when Redis has made its list and the list has not arrived yet. */
  let whileListed: () => void;
  let logged: string[];
  let membership: Membership;

  beforeEach(() => {
    leases = [2];
    relays = [];
    calls = [];
    logged = [];
    whileListed = () => {};
    const redis = {
      run(script: Script, ...args: readonly (string | number)[]): Promise<unknown> {
        calls.push([script, ...args]);
        if (script === LEASE) return Promise.resolve(leases.length > 1 ? leases.shift() : leases[0]);
        whileListed();
        return Promise.resolve(relays);
      },
    };
    membership = new Membership(
      redis,
      { incarnation: 'me', host: '::1', port: 7 },
      MEMBERSHIP_SECRET,
      (event) => logged.push(event),
    );
  });

  function leased(): (readonly (string | number)[])[] {
    return calls.filter(([script]) => script === LEASE).map(([, ...args]) => args);
  }

  it('takes a number for 10 s, keeps it, and releases it', async () => {
    assert.equal(await membership.renew(), true);
    const { number } = membership;
    assert.ok(number >= 1 && number <= 65_535);
    leases = [1];
    assert.equal(await membership.renew(), false);
    const lease = [number, 'me', membershipRecord('me', '::1', 7), RELAY_LEASE_MS];
    assert.deepEqual(leased(), [lease, lease]);
    assert.equal(RELAY_LEASE_MS, 10_000);
    await membership.leave();
    assert.deepEqual(calls.at(-1), [LEAVE, number, 'me']);
  });

  it('takes another number if one is taken, even if it was its own', async () => {
    leases = [0, 0, 2];
    await membership.renew();
    const { number } = membership;
    leases = [0, 2];
    assert.equal(await membership.renew(), true);
    assert.equal(leased().length, 5);
    assert.notEqual(membership.number, number);
  });

  it('gives up after 20 numbers that are taken, until the next renewal', async () => {
    leases = [0];
    await assert.rejects(membership.renew(), RedisError);
    assert.deepEqual([leased().length, RELAY_NUMBER_ATTEMPTS, membership.number], [20, 20, 0]);
    leases = [2];
    await membership.renew();
    assert.notEqual(membership.number, 0);
  });

  it('knows the other members, but not itself, including those that have joined since', async () => {
    await membership.renew();
    relays = [
      String(membership.number),
      'me',
      membershipRecord('me', '::1', 7),
      '70000',
      'two',
      membershipRecord('two', '10.0.0.2', 8),
      '70001',
      'broken',
      '?',
    ];
    await membership.renew();
    assert.deepEqual(membership.find(70_000), { incarnation: 'two', host: '10.0.0.2', port: 8 });
    assert.deepEqual([membership.find(membership.number), membership.find(70_001)], [undefined, undefined]);
    membership.meet({ number: 70_002, incarnation: 'three', record: membershipRecord('three', '::2', 9) });
    assert.deepEqual(membership.find(70_002), { incarnation: 'three', host: '::2', port: 9 });
  });

  it('knows one that joins while Redis lists the others and is not in that list', async () => {
    await membership.renew();
    leases = [1];
    whileListed = () =>
      membership.meet({ number: 70_000, incarnation: 'two', record: membershipRecord('two', '10.0.0.2', 8) });
    await membership.renew();
    whileListed = () => {};
    assert.deepEqual([membership.find(70_000)?.incarnation, membership.hasOthers], ['two', true]);
    // It would be listed by now if it still existed.
    await membership.renew();
    assert.deepEqual([membership.find(70_000), membership.hasOthers], [undefined, false]);
  });

  it('knows whether other members stay, and finds those that leave until they are gone', async () => {
    await membership.renew();
    const own = [String(membership.number), 'me', membershipRecord('me', '::1', 7)];
    const other = membership.number === 1 ? 2 : 1;
    leases = [1];
    relays = own;
    await membership.renew();
    assert.equal(membership.hasOthers, false);
    relays = [...own, String(other), 'other', membershipRecord('other', '10.0.0.2', 7)];
    await membership.renew();
    assert.equal(membership.hasOthers, true);
    membership.part('other');
    await membership.renew();
    assert.equal(membership.hasOthers, false);
    assert.equal(membership.find(other)?.host, '10.0.0.2');
    // Another run of it.
    relays = [...own, String(other), 'again', membershipRecord('again', '10.0.0.2', 7)];
    await membership.renew();
    assert.equal(membership.hasOthers, true);
  });

  describe('with relays that have another secret', () => {
    const stranger = ['70000', 'two', membershipRecord('two', '10.0.0.2', 8, 'x'.repeat(32))];

    it('does not join or reveal itself, and joins once they are gone', async () => {
      relays = stranger;
      await assert.rejects(membership.renew(), StrangerError);
      assert.ok(membership.refusal instanceof StrangerError);
      assert.deepEqual([leased(), membership.number, logged], [[], 0, ['cluster stranger']]);
      relays = [];
      await membership.renew();
      assert.equal(membership.refusal, undefined);
      assert.notEqual(membership.number, 0);
    });

    it('does not contact one that joins later, and logs it once', async () => {
      await membership.renew();
      logged = [];
      relays = stranger;
      leases = [1];
      await membership.renew();
      await membership.renew();
      membership.meet({ number: 70_000, incarnation: 'two', record: stranger[2] ?? '' });
      assert.deepEqual([membership.find(70_000), membership.hasOthers], [undefined, false]);
      assert.deepEqual(logged, ['cluster stranger']);
    });

    it('limits how many of them it remembers', async () => {
      await membership.renew();
      logged = [];
      const come = (port: number): void =>
        membership.meet({ number: 7, incarnation: 'two', record: membershipRecord('two', 'h', port, 'x') });
      for (let port = 1; port <= STRANGERS_MAX; port += 1) come(port);
      come(1);
      assert.equal(logged.length, STRANGERS_MAX);
      come(STRANGERS_MAX + 1);
      come(1);
      assert.equal(logged.length, STRANGERS_MAX + 2);
    });
  });
});

describe("a member's record in Redis", () => {
  const SECRET = 's'.repeat(32);

  for (const host of ['10.0.0.2', '::2', 'relay-2.internal']) {
    it(`is one word, and contains ${host}`, () => {
      const relay = { incarnation: 'two', host, port: 8 };
      const record = writeRecord(relay, SECRET);
      assert.match(record, /^\S+$/);
      assert.ok(!record.includes(SECRET));
      assert.deepEqual(readRecord(record, 'two', SECRET), relay);
    });
  }

  const record = writeRecord({ incarnation: 'two', host: '10.0.0.2', port: 8 }, SECRET);

  it('is not valid under another secret, or for another run of a relay', () => {
    assert.equal(readRecord(record, 'two', 'x'.repeat(32)), undefined);
    assert.equal(readRecord(record, 'three', SECRET), undefined);
  });

  it('is not valid with any character changed, removed or added', () => {
    for (let at = 0; at < record.length; at += 1) {
      const other = record[at] === '1' ? '2' : '1';
      assert.equal(readRecord(record.slice(0, at) + other + record.slice(at + 1), 'two', SECRET), undefined);
      assert.equal(readRecord(record.slice(0, at) + record.slice(at + 1), 'two', SECRET), undefined);
    }
    for (const text of ['', '?', '10.0.0.2:8', `${record}0`, ` ${record}`])
      assert.equal(readRecord(text, 'two', SECRET), undefined);
  });
});
