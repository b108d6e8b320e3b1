import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, type ApiAnswer, assertError } from '../support/api.ts';
import { Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const RATE_TEXT = 'rate limit exceeded';
const PLAN_TEXT = 'custom names require the Dev plan or above';

async function create(account: TestAccount, request: object = {}): Promise<ApiAnswer> {
  return await account.api.send('POST', '/v1/tunnels', { json: { local_port: 1, ...request } });
}

/** The statuses of answers that came in any order. */
function statuses(answers: readonly ApiAnswer[]): number[] {
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

/** Uses up the burst of five. */
async function spendBurst(account: TestAccount): Promise<void> {
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => create(account)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201, 201, 201],
  );
}

describe('limits of creating tunnels', () => {
  const scope = suiteScope();
  let relay: Relay;

  before(async () => {
    relay = await Relay.start(scope);
  });

  describe('the rate limit (spec.md section 8)', () => {
    it('gives five at once, then says when to come back, and keeps that promise', async () => {
      const account = await createAccount(relay);
      await spendBurst(account);
      const refused = await create(account);
      assertError(refused, 429, RATE_TEXT);
      const retryAfter = refused.head.field('retry-after') ?? '';
      assert.match(retryAfter, /^[1-6]$/, 'ten a minute are one in six seconds');
      await delay(Number(retryAfter) * 1000);
      assert.equal((await create(account)).status, 201);
      assertError(await create(account), 429, RATE_TEXT);
    });

    it('is counted for each account, over all of its keys', async () => {
      const [first, second] = await Promise.all([createAccount(relay), createAccount(relay)]);
      await spendBurst(first);
      const { key } = await relay.administer('key', 'create', '--account', first.name);
      const byOtherKey = new Api(relay, String(key)).send('POST', '/v1/tunnels', { json: { local_port: 1 } });
      assertError(await byOtherKey, 429, RATE_TEXT);
      assert.equal((await create(second)).status, 201);
    });

    it('does not touch the other endpoints', async () => {
      const account = await createAccount(relay);
      await spendBurst(account);
      assertError(await create(account), 429, RATE_TEXT);
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => account.api.send('GET', '/v1/tunnels')),
      );
      assert.ok(answers.every(({ status }) => status === 200));
    });

    it('costs nothing for what was refused before it', async () => {
      const account = await createAccount(relay, { plan: 'free' });
      const bad = [
        { local_port: 0 },
        { name: 'A' },
        { ttl: 'x' },
        { ttl: '999h' },
        { idle_ttl: 1 },
        { name: 'ab' },
      ];
      const answers = await Promise.all([...bad, ...bad].map((request) => create(account, request)));
      assert.ok(answers.every(({ status }) => status === 400 || status === 403));
      await spendBurst(account);
    });

    it('costs one for a name that is taken', async () => {
      const account = await createAccount(relay);
      await create(account, { name: 'taken-name' });
      assertError(await create(account, { name: 'taken-name' }), 409, 'name already in use');
      const answers = await Promise.all([1, 2, 3, 4].map(() => create(account)));
      assert.deepEqual(statuses(answers), [201, 201, 201, 429]);
    });

    it('comes after fields and plan and before the name', async () => {
      const [dev, free] = await Promise.all([createAccount(relay), createAccount(relay, { plan: 'free' })]);
      await Promise.all([spendBurst(dev), spendBurst(free)]);
      assertError(await create(dev, { local_port: 0 }), 400, 'local_port must be 1-65535');
      assertError(await create(free, { name: 'some-name' }), 403, PLAN_TEXT);
      assertError(await create(dev, { name: 'www' }), 429, RATE_TEXT);
    });
  });

  describe('names', () => {
    it('are for the Dev plan and above', async () => {
      const [free, dev, team] = await Promise.all([
        createAccount(relay, { plan: 'free' }),
        createAccount(relay, { plan: 'dev' }),
        createAccount(relay, { plan: 'team' }),
      ]);
      assertError(await create(free, { name: 'free-name' }), 403, PLAN_TEXT);
      assert.equal((await create(free, { name: '' })).status, 201);
      assert.equal((await create(dev, { name: 'dev-name' })).status, 201);
      assert.equal((await create(team, { name: 'team-name' })).status, 201);
    });

    it('are checked for their form before the plan', async () => {
      const free = await createAccount(relay, { plan: 'free' });
      assert.equal((await create(free, { name: 'A' })).status, 400);
    });

    it('belong to one live tunnel, whoever asks', async () => {
      const [first, second] = await Promise.all([createAccount(relay), createAccount(relay)]);
      assert.equal((await create(first, { name: 'only-one' })).status, 201);
      assertError(await create(first, { name: 'only-one' }), 409, 'name already in use');
      assertError(await create(second, { name: 'only-one' }), 409, 'name already in use');
    });

    it('may not be the slug of an unnamed tunnel either', async () => {
      const account = await createAccount(relay);
      const { slug } = (await create(account)).json as Tunnel;
      assertError(await create(account, { name: slug }), 409, 'name already in use');
    });

    for (const name of ['www', 'api', 'admin']) {
      it(`may not be the reserved ${name}`, async () => {
        assertError(await create(await createAccount(relay), { name }), 409, 'name already in use');
      });
    }

    it('go to exactly one of several who ask at once', async () => {
      const accounts = await Promise.all([createAccount(relay), createAccount(relay)]);
      const answers = await Promise.all(
        [0, 1, 2, 3].flatMap(() => accounts.map((account) => create(account, { name: 'contested' }))),
      );
      assert.deepEqual(statuses(answers), [201, 409, 409, 409, 409, 409, 409, 409]);
    });
  });
});
