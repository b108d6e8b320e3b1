import assert from 'node:assert/strict';
import { API_ERRORS, ApiError, type ApiErrorEntry, tooManyTunnels } from '../../shared/errors.ts';
import { anAccount } from '../testing/fixtures.ts';
import { type ApiContext, limitRate } from './guards.ts';

describe('limitRate()', () => {
  it("does not count a create that the plan's tunnel limit refuses, but counts other failures", async () => {
    const given: string[] = [];
    const creates = { take: () => 0, giveBack: (account: string) => void given.push(account) };
    const account = anAccount();
    const ctx = { state: { account } } as ApiContext;
    const fail = (entry: ApiErrorEntry) =>
      assert.rejects(limitRate(creates)(ctx, () => Promise.reject(new ApiError(entry))));
    await fail(API_ERRORS.nameTaken);
    assert.deepEqual(given, []);
    await fail(tooManyTunnels('Free', 20, '2026-07-10T12:00:00.000Z'));
    assert.deepEqual(given, [account.id]);
  });
});
