import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { localPort } from '../../client/local/local-service.ts';
import { Network } from '../../client/network/network.ts';
import { record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { type RestResponse, startRestRelay, closeServers } from '../../testing/servers.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { JsonReporter } from '../output/reporter.ts';
import { serveTunnels } from './run-tunnels.ts';
import { hostOf } from './serve-tunnel.ts';

const LIMITED: RestResponse = [429, { error: 'rate limit exceeded' }, { 'retry-after': '6' }];

/** Starts tunnels to ports 1 and 2 at a relay that responds to creates as told; the test interrupts it. */
async function start(create: (port: number) => RestResponse, isService = false) {
  const clock = new FakeClock();
  const { address, calls } = await startRestRelay((call) => {
    if (call.startsWith('DELETE')) return [200, { status: 'closed' }];
    return create(Number(/"local_port":(\d)/.exec(call)?.[1]));
  });
  const { printed, output } = record();
  const interrupt = new AbortController();
  const access = { relay: address, key: `cvt_${'k'.repeat(32)}`, network: new Network(), json: true };
  const tunnels = ['one', 'two'].map((label, at) => ({ ...SPEC, label, target: localPort(at + 1) }));
  const onceOnline = { open: false, qr: false, copy: false };
  const code = serveTunnels(
    { tunnels, onceOnline, ui: false, isService, ...access },
    (one) => ({ reporter: new JsonReporter(output, one) }),
    { output, interrupted: interrupt.signal, clock, host: hostOf(access, undefined, clock) },
  );
  const ends = (): string[] =>
    printed.out
      .split('\n')
      .filter((line) => line.includes('"offline"'))
      .map((line) => JSON.parse(line) as { name: string; reason: string })
      .map(({ name, reason }) => `${name} ${reason}`)
      .sort();
  return { code, calls, clock, interrupt, ends, printed };
}

/** Waits for things that other processes of this machine do not delay. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

describe('serveTunnels', () => {
  afterEach(closeServers);

  it('ends with the worst code if tunnels failed on their own', async () => {
    const { code, ends } = await start((port) =>
      port === 1
        ? [409, { error: 'name already in use' }]
        : [401, { error: 'invalid api key' }, { 'www-authenticate': 'Bearer' }],
    );
    assert.equal(await code, 3);
    assert.deepEqual(ends(), ['one failed', 'two failed']);
  });

  it('creates nothing further after Ctrl-C', async () => {
    const { code, calls, clock, interrupt, ends } = await start(() => LIMITED);
    await until(() => clock.waiting.length > 0);
    interrupt.abort();
    assert.equal(await code, 0);
    assert.equal(calls.length, 1);
    assert.deepEqual(ends(), ['one stopped', 'two stopped']);
    assert.deepEqual(clock.waiting, []);
  });

  it('closes a tunnel that was created while Ctrl-C was pressed', async () => {
    const { code, calls, interrupt } = await start((port) => {
      interrupt.abort();
      return [201, { ...TUNNEL, local_port: port }];
    });
    assert.equal(await code, 0);
    assert.deepEqual(
      calls.map((call) => call.split(' ', 2).join(' ')),
      ['POST /v1/tunnels', `DELETE /v1/tunnels/${TUNNEL.id}`],
    );
  });

  it('tries again for as long as a service runs, says why once, and stops when told', async () => {
    let status = 503;
    const { code, calls, clock, interrupt, printed } = await start(
      () => [status, { error: status === 503 ? 'service unavailable' : 'name already in use' }],
      true,
    );
    const creates = (): number => calls.filter((call) => call.startsWith('POST')).length;
    for (let count = 1; count <= 5; count += 1) {
      if (count === 4) status = 409;
      await until(() => creates() === 2 * count && clock.waiting.length === 2);
      clock.advance(30_000);
    }
    await until(() => creates() === 12 && clock.waiting.length === 2);
    assert.equal(printed.err.match(/one: .*service unavailable.* Trying again until it works\./g)?.length, 1);
    assert.equal(printed.err.match(/two: .*name already in use.* Trying again until it works\./g)?.length, 1);
    interrupt.abort();
    assert.equal(await code, 0);
    assert.deepEqual(clock.waiting, []);
  });

  it('does not try a refused key again for a service', async () => {
    const refused: RestResponse = [401, { error: 'invalid api key' }, { 'www-authenticate': 'Bearer' }];
    const { code, ends } = await start(() => refused, true);
    assert.equal(await code, 3);
    assert.deepEqual(ends(), ['one failed', 'two failed']);
  });
});
