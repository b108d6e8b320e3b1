import assert from 'node:assert/strict';
import { API_ERRORS, ApiError, type ApiErrorEntry, tooManyTunnels } from '../../shared/errors.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import { anAccount } from '../testing/fixtures.ts';
import { type ApiContext, authenticate, limitRate, readCreate } from './guards.ts';

const DAY = 24 * 3600;

function contextOf(parts: object): ApiContext {
  return parts as ApiContext;
}

async function nothing(): Promise<void> {}

describe('guards of routes', () => {
  it('count wrong keys by the address that the edge determined', async () => {
    const asked: unknown[] = [];
    const account = anAccount();
    const authenticator = {
      authenticate: (...given: unknown[]) => {
        asked.push(given);
        return Promise.resolve({ account, scope: { kind: 'all' } });
      },
    } as unknown as Authenticator;
    const headers = { authorization: 'Bearer x', 'x-forwarded-for': '192.0.2.1' };
    const ctx = contextOf({ req: { headers }, state: {} });
    await authenticate(authenticator)(ctx, nothing);
    assert.deepEqual([asked, ctx.state.account], [[['Bearer x', '192.0.2.1']], account]);
  });

  it('limit the ttl of a tunnel to the maximum of the plan', async () => {
    const limits = { defaultTtl: 3600, maxTtl: 7 * DAY };
    const create = (plan: 'free' | 'dev') => {
      const body = { local_port: 3000, ttl: '48h' };
      const ctx = contextOf({
        request: { body },
        state: { account: anAccount({ plan }), caller: { scope: { kind: 'all' } } },
      });
      return readCreate(limits)(ctx, nothing);
    };
    await assert.rejects(create('free'), /ttl must be at most 24h0m0s/);
    await create('dev');
  });

  it("do not count a create that the plan's tunnel limit refuses, but count other failures", async () => {
    const given: string[] = [];
    const creates = { take: () => 0, giveBack: (account: string) => void given.push(account) };
    const account = anAccount();
    const fail = (entry: ApiErrorEntry) =>
      assert.rejects(
        limitRate(creates)(contextOf({ state: { account } }), () => Promise.reject(new ApiError(entry))),
      );
    await fail(API_ERRORS.nameTaken);
    assert.deepEqual(given, []);
    await fail(tooManyTunnels('Free', 20, '2026-07-10T12:00:00.000Z'));
    assert.deepEqual(given, [account.id]);
  });
});
