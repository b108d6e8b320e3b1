import assert from 'node:assert/strict';
import { ApiError } from '../../shared/errors.ts';
import { aStore, anAccount, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { issueKey } from './accounts.ts';
import { generateKey } from './api-key.ts';
import { Authenticator } from './authenticator.ts';

describe('Authenticator', () => {
  const account = anAccount();
  let test: TestStore;
  let authenticator: Authenticator;
  let key: string;
  let keyId: string;

  beforeEach(async () => {
    test = await aStore(account);
    authenticator = new Authenticator(test.store);
    const issued = await issueKey(test.store, new FakeClock(), account);
    [key, keyId] = [issued.key, issued.record.id];
  });

  async function refusal(authorization: string | undefined): Promise<ApiError> {
    const error: unknown = await authenticator.authenticate(authorization).catch((reason: unknown) => reason);
    return error instanceof ApiError ? error : assert.fail('the request was let in');
  }

  for (const scheme of ['Bearer ', 'bearer ', 'BEARER    ']) {
    it(`finds the account of a key behind "${scheme}"`, async () => {
      const owner = await authenticator.authenticate(`${scheme}${key}`);
      assert.deepEqual([owner.account, owner.keyId], [account, keyId]);
    });
  }

  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearercvt_', 'Bearer\tx']) {
    it(`takes ${JSON.stringify(authorization)} for a missing key`, async () => {
      const { status, message, headers } = await refusal(authorization);
      assert.deepEqual(
        [status, message, headers],
        [401, 'missing api key', { 'WWW-Authenticate': 'Bearer' }],
      );
    });
  }

  it('refuses a key that nobody has', async () => {
    const { status, message, headers } = await refusal(`Bearer ${generateKey()}`);
    assert.deepEqual([status, message, headers], [401, 'invalid api key', { 'WWW-Authenticate': 'Bearer' }]);
  });

  it('refuses a key from the moment it is revoked', async () => {
    await test.store.revokeKey(keyId, 0);
    assert.equal((await refusal(`Bearer ${key}`)).message, 'invalid api key');
  });

  it('answers 503 when the store cannot tell', async () => {
    test.down = true;
    const { status, headers } = await refusal(`Bearer ${key}`);
    assert.deepEqual([status, headers], [503, { 'Retry-After': '1' }]);
  });

  it('refuses a malformed key without asking the store', async () => {
    test.down = true;
    for (const malformed of [
      'cvt_short',
      key.replace('cvt_', 'abc_'),
      `${key} x`,
      `${key}!`,
      `cvt_${'a'.repeat(201)}`,
    ]) {
      assert.equal((await refusal(`Bearer ${malformed}`)).message, 'invalid api key');
    }
  });
});
