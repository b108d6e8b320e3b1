import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeServers, type RestResponse, startRestRelay } from '../testing/servers.ts';
import { expose } from './index.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const limited = (seconds: number): RestResponse => [
  429,
  { error: 'rate limit exceeded' },
  { 'retry-after': String(seconds) },
];

describe('expose', () => {
  afterEach(closeServers);

  it('tries again, and warns, if the relay limits how many tunnels can be created', async () => {
    const answers = [limited(0), limited(0)];
    const { address, calls } = await startRestRelay(() => answers.shift() ?? [403, { error: 'at last' }]);
    const warned = once(process, 'warning') as Promise<[Error]>;
    await assert.rejects(expose({ port: 1, relay: address.origin, key: KEY }), /at last/);
    assert.equal(calls.length, 3);
    assert.match((await warned)[0].message, /limits how many tunnels you can create per minute/);
  });

  for (const [access, message] of [
    [{ password: undefined }, /^access\.password must not be undefined$/],
    [{ pasword: 'secret' }, /^access\.pasword is not a field of an access policy$/],
  ] as const)
    it(`creates no tunnel with access ${JSON.stringify(Object.entries(access))}`, async () => {
      const { address, calls } = await startRestRelay(() => [500, { error: 'not expected' }]);
      const options = { port: 1, relay: address.origin, key: KEY, access: access as object };
      await assert.rejects(expose(options), { message });
      assert.equal(calls.length, 0);
    });

  it('stops waiting for the reason of the signal', async () => {
    const stop = new AbortController();
    const { address, calls } = await startRestRelay(() => limited(60));
    process.once('warning', () => stop.abort(new Error('no longer needed')));
    const opening = expose({ port: 1, relay: address.origin, key: KEY, signal: stop.signal });
    await assert.rejects(opening, /no longer needed/);
    assert.equal(calls.length, 1);
  });
});
