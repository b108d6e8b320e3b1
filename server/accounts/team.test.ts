import assert from 'node:assert/strict';
import { ApiError } from '../../shared/errors.ts';
import { anAccount, aStore, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { hashKey } from './api-keys.ts';
import { Invitations, INVITE_TRIES_PER_MINUTE, newInvitation } from './team.ts';

const DAY_SECONDS = 24 * 3600;

describe('Invitations', () => {
  const account = anAccount({ name: 'acme' });
  let clock: FakeClock;
  let test: TestStore;
  let invitations: Invitations;
  let token: string;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    invitations = new Invitations({ store: test.store, clock, log() {}, limit: (local) => local });
    const made = newInvitation(clock, account, { ttl: DAY_SECONDS });
    token = made.token;
    await test.store.insertInvitations([made.record], clock.now());
  });

  afterEach(() => test.store.close());

  it('create a key labelled with the name of the machine, and record who got it', async () => {
    const { key, record } = await invitations.take(token, 'laptop', undefined);
    assert.equal((await test.store.findKeyOwner(hashKey(key)))?.account.name, 'acme');
    assert.equal((await test.store.listKeys(0))[0]?.label, 'laptop');
    const [act] = await test.store.listAudit(1);
    assert.deepEqual([act?.action, act?.subject], ['invite.take', 'acme']);
    assert.equal(act?.detail, `key ${record.hint}…, "laptop"`);
  });

  it('can be viewed any number of times, and accepted once', async () => {
    for (let looks = 0; looks < 3; looks += 1)
      assert.equal((await invitations.find(token, undefined)).account.name, 'acme');
    await invitations.take(token, '', undefined);
    assert.equal(await refusal(invitations.find(token, undefined)), 404);
    assert.equal(await refusal(invitations.take(token, '', undefined)), 404);
    assert.equal((await test.store.listKeys(0)).length, 1);
  });

  it('are accepted by only one of two simultaneous requests', async () => {
    const takes = Array.from({ length: 5 }, () => invitations.take(token, '', undefined));
    const results = await Promise.allSettled(takes);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await test.store.listKeys(0)).length, 1);
  });

  it('expire', async () => {
    clock.advance(DAY_SECONDS * 1000 - 1);
    await invitations.find(token, undefined);
    clock.advance(1);
    assert.equal(await refusal(invitations.take(token, '', undefined)), 404);
    assert.deepEqual(await test.store.listInvitations(clock.now()), []);
  });

  it('are invalid while their account is suspended, once they are revoked, and without their account', async () => {
    await test.store.setSuspension('acme', 'x');
    assert.equal(await refusal(invitations.take(token, '', undefined)), 404);
    await test.store.setSuspension('acme', null);
    const { id } = await invitations.find(token, undefined);
    assert.equal(await test.store.revokeInvitation(id, clock.now()), true);
    assert.equal(await test.store.revokeInvitation(id, clock.now()), false);
    assert.equal(await refusal(invitations.take(token, '', undefined)), 404);
    const other = newInvitation(clock, account, { ttl: DAY_SECONDS });
    await test.store.insertInvitations([other.record], clock.now());
    await test.store.removeAccount('acme', 0);
    assert.equal(await refusal(invitations.take(other.token, '', undefined)), 404);
  });

  it('are not looked up in the store with an invalid token', async () => {
    test.down = true;
    for (const wrong of ['', 'x', `${token}x`, token.replace(/.$/, '%')])
      assert.equal(await refusal(invitations.find(wrong, undefined)), 404);
    assert.equal(await refusal(invitations.find(token, undefined)), 503);
  });

  it('are refused with 429 after 30 wrong ones a minute from an address, but not right ones', async () => {
    const guess = () => refusal(invitations.find('x'.repeat(token.length), '192.0.2.1'));
    for (let looks = 0; looks < INVITE_TRIES_PER_MINUTE; looks += 1) assert.equal(await guess(), 404);
    assert.equal(await guess(), 429);
    await invitations.take(token, 'laptop', '192.0.2.1');
  });

  it('can be accepted by a whole office that shares one address, and then label the keys', async () => {
    for (let person = 0; person < 2 * INVITE_TRIES_PER_MINUTE; person += 1) {
      const made = newInvitation(clock, account, { ttl: DAY_SECONDS, label: `person ${person}` });
      await test.store.insertInvitations([made.record], clock.now());
      await invitations.find(made.token, '192.0.2.1');
      const { record } = await invitations.take(made.token, 'laptop', '192.0.2.1');
      assert.equal(record.label, `person ${person}`);
    }
  });
});

async function refusal(attempt: Promise<unknown>): Promise<number> {
  const error: unknown = await attempt.catch((reason: unknown) => reason);
  return error instanceof ApiError ? error.status : assert.fail('it was not refused');
}
