import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { type ApiResponse, assertError } from '../support/api.ts';
import { eventually, timed } from '../support/deadline.ts';
import { assertBurst, CREATES } from '../support/rate-limit.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const RATE_TEXT = 'rate limit exceeded';
const PLAN_TEXT = 'custom names require the Dev plan or above';
const TAKEN_TEXT = 'name already in use';

async function create(account: TestAccount, request: object = {}): Promise<ApiResponse> {
  return await account.api.send('POST', '/v1/tunnels', { json: { local_port: 1, ...request } });
}

/** The sorted statuses of responses that may arrive in any order. */
function statuses(answers: readonly ApiResponse[]): number[] {
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

/** Uses up the burst of five of an account that has created nothing. */
async function spendBurst(account: TestAccount): Promise<void> {
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => create(account)));
  assert.deepEqual(statuses(answers), [201, 201, 201, 201, 201]);
}

/** Uses up whatever the account may create now. @returns how many tunnels that were, and the refusal of one more */
async function spendAll(account: TestAccount): Promise<{ made: number; refused: ApiResponse }> {
  for (let made = 0; ; made += 1) {
    const answer = await create(account);
    if (answer.status === 429) return { made, refused: answer };
    assert.equal(answer.status, 201);
  }
}

describe('limits of creating tunnels', () => {
  const { relay } = sharedRelaySuite();

  describe('the rate limit (protocol.md section 3.2)', () => {
    let free: TestAccount;
    let account: TestAccount;

    beforeEach(async () => {
      [account, free] = await Promise.all([createAccount(relay), createAccount(relay, { plan: 'free' })]);
    });

    it('allows a burst of five, and then sends Retry-After', async () => {
      const { value, ms } = await timed(() => spendAll(account));
      const { made, refused } = value;
      assertBurst({ count: made, ms }, CREATES);
      assertError(refused, 429, RATE_TEXT);
      const retryAfter = refused.head.field('retry-after') ?? '';
      assert.match(retryAfter, /^[1-6]$/, 'ten a minute are one every six seconds');
    });

    it('is shared by all keys of an account', async () => {
      const other = await withNewKey(relay, account);
      const answers = await Promise.all(
        [account, account, other, other].flatMap((owner) => [1, 2, 3].map(() => create(owner))),
      );
      const made = answers.filter(({ status }) => status === 201).length;
      // One more is allowed every 6 s, which a busy machine may need.
      assert.ok(made >= 5 && made < 10, `${made} of ${answers.length}`);
      assert.equal((await create(free)).status, 201);
    });

    it('does not affect the other endpoints', async () => {
      await spendAll(account);
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => account.api.send('GET', '/v1/tunnels')),
      );
      assert.ok(answers.every(({ status }) => status === 200));
    });

    it('does not count requests that were refused earlier', async () => {
      const bad = [
        { local_port: 0 },
        { name: 'A' },
        { ttl: 'x' },
        { ttl: '999h' },
        { idle_ttl: 1 },
        { name: 'ab' },
      ];
      const answers = await Promise.all([...bad, ...bad].map((request) => create(free, request)));
      assert.ok(answers.every(({ status }) => status === 400 || status === 403));
      await spendBurst(free);
    });

    it('counts a request for a taken name', async () => {
      const { value, ms } = await timed(async () => {
        assert.equal((await create(account, { name: 'taken-name' })).status, 201);
        assertError(await create(account, { name: 'taken-name' }), 409, TAKEN_TEXT);
        return await spendAll(account);
      });
      assertBurst({ count: 2 + value.made, ms }, CREATES);
    });

    it('is checked after fields and plan, and before the name', async () => {
      await spendAll(free);
      await eventually(60_000, async () => {
        await spendAll(account);
        assertError(await create(account, { name: 'www' }), 429, RATE_TEXT);
      });
      assertError(await create(account, { local_port: 0 }), 400, 'local_port must be 1-65535');
      assertError(await create(free, { name: 'some-name' }), 403, PLAN_TEXT);
    });
  });

  describe('names', () => {
    let free: TestAccount;
    let dev: TestAccount;
    let team: TestAccount;
    let other: TestAccount;

    before(async () => {
      [free, dev, team, other] = await Promise.all([
        createAccount(relay, { plan: 'free' }),
        createAccount(relay, { plan: 'dev' }),
        createAccount(relay, { plan: 'team' }),
        createAccount(relay),
      ]);
    });

    it('go to exactly one of several simultaneous requests', async () => {
      const requests = [dev, team, dev, team, dev, team];
      const answers = await Promise.all(requests.map((account) => create(account, { name: 'contested' })));
      assert.deepEqual(statuses(answers), [201, 409, 409, 409, 409, 409]);
    });

    it('require the Dev plan or a higher one', async () => {
      for (const take_over of [false, true])
        assertError(await create(free, { name: 'free-name', take_over }), 403, PLAN_TEXT);
      assert.equal((await create(free, { name: '' })).status, 201);
      assert.equal((await create(dev, { name: 'dev-name' })).status, 201);
      assert.equal((await create(team, { name: 'team-name' })).status, 201);
    });

    it('belong to one live tunnel, across all accounts', async () => {
      assertError(await create(dev, { name: 'dev-name' }), 409, TAKEN_TEXT);
      assertError(await create(team, { name: 'dev-name' }), 409, TAKEN_TEXT);
    });

    it('cannot be the slug of an unnamed tunnel', async () => {
      const { slug } = (await create(other)).json as Tunnel;
      assertError(await create(other, { name: slug }), 409, TAKEN_TEXT);
    });

    it('cannot be reserved ones', async () => {
      for (const name of ['www', 'api', 'admin']) {
        assertError(await create(other, { name }), 409, TAKEN_TEXT, 'name-reserved');
      }
    });
  });
});
