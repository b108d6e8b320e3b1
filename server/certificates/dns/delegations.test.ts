import assert from 'node:assert/strict';
import { DELEGATIONS_KNOWN_MAX } from '../../limits.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeShell } from '../../testing/fake-shell.ts';
import type { Delegation } from './delegation.ts';
import { Delegations } from './delegations.ts';

const SEEN_MS = 3_600_000;
const MISSING_MS = 60_000;
const OURS: Delegation = { kind: 'ours' };
const MISSING: Delegation = { kind: 'missing', reason: 'there is no such record' };
const FAILED: Delegation = { kind: 'failed', reason: 'the resolver cannot be asked (ETIMEOUT)' };

describe('delegations', () => {
  let clock: FakeClock;
  let shell: FakeShell;
  let found: Delegation;
  let asked: string[];
  let delegations: Delegations;

  beforeEach(() => {
    clock = new FakeClock();
    shell = new FakeShell();
    asked = [];
    const lookUp = (domain: string): Promise<Delegation> => {
      asked.push(domain);
      return Promise.resolve(found);
    };
    delegations = new Delegations({ lookUp, nameServer: 'relay.test', clock, log: shell.log });
  });

  async function isOurs(of: Delegation): Promise<boolean> {
    found = of;
    return await delegations.isOurs('t.test');
  }

  it('are looked up once for all who ask at the same time', async () => {
    found = OURS;
    const both = await Promise.all([delegations.isOurs('t.test'), delegations.isOurs('t.test')]);
    assert.deepEqual([both, asked], [[true, true], ['t.test']]);
  });

  it('that were seen are believed for an hour', async () => {
    await isOurs(OURS);
    clock.advance(SEEN_MS - 1);
    assert.equal(await isOurs(MISSING), true);
    clock.advance(1);
    assert.equal(await isOurs(MISSING), false);
  });

  it('that are missing are looked for again after a minute', async () => {
    await isOurs(MISSING);
    clock.advance(MISSING_MS - 1);
    assert.equal(await isOurs(OURS), false);
    clock.advance(1);
    assert.equal(await isOurs(OURS), true);
  });

  it('are told when they change, with the record to add, and not again', async () => {
    for (const next of [MISSING, MISSING, FAILED, OURS, OURS, FAILED, MISSING]) {
      await isOurs(next);
      clock.advance(SEEN_MS);
    }
    const missing = {
      domain: 't.test',
      record: '_acme-challenge.t.test. NS relay.test.',
      reason: 'there is no such record',
    };
    assert.deepEqual(shell.logged, [
      ['delegation missing', missing],
      ['delegation seen', { domain: 't.test' }],
      ['delegation missing', missing],
    ]);
  });

  it('are told though nobody could be asked, and not believed then', async () => {
    assert.equal(await isOurs(FAILED), false);
    assert.equal(shell.logged.length, 1);
  });

  it('stay what they were while nobody can be asked, who is asked again after a minute', async () => {
    await isOurs(OURS);
    clock.advance(SEEN_MS);
    assert.equal(await isOurs(FAILED), true);
    clock.advance(MISSING_MS);
    assert.equal(await isOurs(MISSING), false);
  });

  it('are remembered for 10,000 domains', async () => {
    found = OURS;
    for (let index = 0; index <= DELEGATIONS_KNOWN_MAX; index += 1) await delegations.isOurs(`${index}.test`);
    await delegations.isOurs('1.test');
    assert.equal(asked.length, DELEGATIONS_KNOWN_MAX + 1);
    await delegations.isOurs('0.test');
    assert.equal(asked.length, DELEGATIONS_KNOWN_MAX + 2);
  });
});
