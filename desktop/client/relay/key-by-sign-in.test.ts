import assert from 'node:assert/strict';
import { loginCode } from '../../../shared/logins.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { closeServers, type RestResponse, startRestRelay } from '../../testing/servers.ts';
import { Network } from '../network/network.ts';
import { RelayRefusal } from './errors.ts';
import { requestKey } from './key-by-sign-in.ts';

const LOGIN = { url: 'https://relay.example/auth/login/abc', provider: 'Example', expires_in: 600 };
const TAKEN = { id: 'k', account: 'acme', key: `cvt_${'k'.repeat(32)}`, relay: 'https://relay.example' };
const NOT_YET: RestResponse = [404, { error: 'invitation not found', code: 'invitation-not-found' }];
const BUSY: RestResponse = [429, { error: 'rate limit exceeded', code: 'rate-limited' }];

/** Asks a relay, which answers `login` first and `answers` then, the last one for good. */
async function ask(login: RestResponse, ...answers: RestResponse[]) {
  const clock = new FakeClock();
  const { address, calls } = await startRestRelay((call) => {
    if (call.startsWith('POST /v1/logins')) return login;
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? assert.fail('not asked');
  });
  return { clock, calls, request: await requestKey(address, new Network(), clock) };
}

/** Lets time pass until the promise is settled. */
async function passing<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  void work.then(end, end);
  while (!over.signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
  }
  return await work;
}

describe('requestKey', () => {
  afterEach(closeServers);

  it('asks until the person has approved, with a token that only it knows', async () => {
    const { clock, calls, request } = await ask([201, LOGIN], NOT_YET, BUSY, [201, TAKEN]);
    assert.ok(request);
    assert.deepEqual(await passing(clock, request.key()), TAKEN);
    const [, digest = ''] = /"digest":"([\da-f]{64})"/.exec(calls[0] ?? '') ?? [];
    assert.equal(request.code, loginCode(digest));
    const tokens = calls.slice(1).map((call) => /\/v1\/invites\/([\w-]{32}) /.exec(call)?.[1]);
    assert.equal(tokens.length, 3);
    assert.equal(new Set(tokens).size, 1);
    assert.ok(!calls[0]?.includes(tokens[0] ?? ''));
  });

  it('gives up when the time is over, or when the relay refuses otherwise', async () => {
    const late = await ask([201, LOGIN], NOT_YET);
    await assert.rejects(passing(late.clock, late.request?.key() ?? assert.fail('no request')), /in time/);
    const refused = await ask([201, LOGIN], [400, { error: 'invalid machine' }]);
    await assert.rejects(
      passing(refused.clock, refused.request?.key() ?? assert.fail('no request')),
      RelayRefusal,
    );
  });

  it('is not offered by other relays', async () => {
    assert.equal((await ask([404, { error: 'not found', code: 'not-found' }])).request, undefined);
    assert.equal((await ask([200, LOGIN])).request, undefined);
  });
});

describe('loginCode', () => {
  it('differs with the digest, and has no vowels', () => {
    assert.match(
      loginCode('0123456789abcdef'.repeat(4)),
      /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    );
    assert.notEqual(loginCode('0'.repeat(64)), loginCode(`1${'0'.repeat(63)}`));
  });
});
