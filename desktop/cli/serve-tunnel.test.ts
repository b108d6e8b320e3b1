import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { OPEN } from '../../shared/access.ts';
import { parseDuration } from '../../shared/duration.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { systemClock } from '../client/clock.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { NO_FILES, record } from '../testing/command-context.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { closeServers, startHttp } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { JsonReporter } from './reporter.ts';
import { ExpiryWatch, serveTunnel } from './serve-tunnel.ts';

/** Runs `culvert http 3000 --json` with a REST interface that responds as told; it offers no WebSockets. */
async function run(
  routes: Record<string, (response: ServerResponse) => void>,
  interrupted: AbortSignal = new AbortController().signal,
  access = OPEN,
) {
  const calls: string[] = [];
  const relay = await startHttp((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    request.resume();
    routes[request.method ?? '']?.(response);
  });
  const env = { CULVERT_RELAY: relay.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { name, given } = readArguments(['http', '3000', '--json'], env, NO_FILES);
  assert.ok(name === 'http');
  const { printed, output } = record();
  const spec = { ...given.tunnel, access };
  const code = await serveTunnel({
    access: given,
    spec,
    reporter: new JsonReporter(output, spec),
    log: new RequestLog(),
    output,
    interrupted,
    inspection: undefined,
    clock: systemClock,
  });
  const lines = printed.out.trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { event: string; reason: string; message: string });
  return { code, events, calls, err: printed.err };
}

const answer =
  (status: number, body: unknown, headers?: Record<string, string>) => (response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(JSON.stringify(body));
  };

describe('serveTunnel', () => {
  afterEach(closeServers);

  const refusals: [number, string, Record<string, string>, number, RegExp][] = [
    [401, 'invalid api key', { 'www-authenticate': 'Bearer' }, 3, /rejected the API key.* CULVERT_API_KEY/],
    [403, 'custom names require the Dev plan or above', {}, 1, /Dev plan/],
    [409, 'name already in use', {}, 1, /another name/],
    [429, 'rate limit exceeded', { 'retry-after': '6' }, 1, /Try again in 6 s/],
    [503, 'service unavailable', {}, 1, /service unavailable/],
  ];
  for (const [status, error, headers, exitCode, message] of refusals) {
    it(`exits with ${exitCode} when the relay refuses with ${status}, and explains what to do`, async () => {
      const refuse = answer(status, { error }, headers);
      const { code, events } = await run({ POST: refuse, GET: refuse });
      assert.equal(code, exitCode);
      assert.equal(events.length, 1);
      assert.equal(events[0]?.event, 'offline');
      assert.equal(events[0].reason, 'failed');
      assert.match(events[0].message, message);
    });
  }

  it('reports a reserved name if the relay does', async () => {
    const refuse = answer(409, { error: 'name already in use', code: 'name-reserved' });
    const { events } = await run({ POST: refuse, GET: refuse });
    assert.match(events[0]?.message ?? '', /^The name is reserved by the relay\. Choose another/);
  });

  it('never serves a tunnel that a relay has not protected', async () => {
    const { code, events, calls } = await run(
      { POST: answer(201, TUNNEL), DELETE: answer(200, { status: 'closed' }) },
      undefined,
      { ...OPEN, knock: true },
    );
    assert.equal(code, 1);
    assert.deepEqual(calls, ['POST /v1/tunnels', `DELETE /v1/tunnels/${TUNNEL.id}`]);
    assert.deepEqual(
      events.map(({ event, reason }) => [event, reason]),
      [['offline', 'failed']],
    );
    assert.match(events[0]?.message ?? '', /too old to restrict access to a tunnel.*closed immediately\.$/);
  });

  it('closes a tunnel that was created after Ctrl-C', async () => {
    const interrupt = new AbortController();
    const { code, events, calls } = await run(
      {
        POST(response) {
          interrupt.abort();
          answer(201, TUNNEL)(response);
        },
        DELETE: answer(200, { status: 'closed' }),
      },
      interrupt.signal,
    );
    assert.equal(code, 0);
    assert.deepEqual(calls, ['POST /v1/tunnels', `DELETE /v1/tunnels/${TUNNEL.id}`]);
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ['stopped'],
    );
  });

  it('reports how long a tunnel lives that could not be closed', async () => {
    const { code, err } = await run(
      { POST: answer(201, TUNNEL), DELETE: answer(503, { error: 'service unavailable' }) },
      AbortSignal.abort(),
    );
    assert.equal(code, 0);
    assert.match(err, /could not be closed and expires 2026-07-10 \d\d:00:00.* service unavailable/);
  });

  it('treats a missing tunnel as closed', async () => {
    const { code, err } = await run(
      { POST: answer(201, TUNNEL), DELETE: answer(404, { error: 'tunnel not found' }) },
      AbortSignal.abort(),
    );
    assert.equal(code, 0);
    assert.equal(err, '');
  });
});

const MINUTE = 60_000;

/** @param aheadMs how far the relay's clock is ahead of this machine's */
function watch(minutes: number, { isKept = false, aheadMs = 0 } = {}) {
  const clock = new FakeClock();
  const begin = clock.now() + aheadMs;
  const ending = (at: number): Tunnel => ({
    ...TUNNEL,
    ttl: `${minutes}m`,
    expires_at: new Date(begin + at * MINUTE).toISOString(),
  });
  const warned: number[] = [];
  const extensions: string[] = [];
  const state = { tunnel: ending(minutes), isAway: false, calls: 0 };
  const expiry = new ExpiryWatch(state.tunnel, {
    clock,
    fetchTunnel: () => (state.isAway ? Promise.reject(new Error('away')) : Promise.resolve(state.tunnel)),
    extendTunnel: isKept ? extend : undefined,
    warn: (_tunnel, left) => warned.push(left / MINUTE),
  });
  expiry.start();
  /** As a relay does: adds to the end of the tunnel. */
  function extend(_id: string, ttl: string): Promise<Tunnel> {
    state.calls += 1;
    if (state.isAway) return Promise.reject(new Error('away'));
    const { expires_at } = state.tunnel;
    const until = Date.parse(expires_at) + (parseDuration(ttl) ?? 0) * 1000;
    extensions.push(`${ttl} at ${clock.now() / MINUTE}`);
    state.tunnel = { ...state.tunnel, expires_at: new Date(until).toISOString() };
    return Promise.resolve(state.tunnel);
  }
  async function pass(by: number): Promise<void> {
    for (let minute = 0; minute < by; minute += 1) {
      clock.advance(MINUTE);
      await turn();
    }
  }
  return { clock, expiry, state, ending, warned, extensions, pass };
}

describe('ExpiryWatch', () => {
  it('warns 10 and 2 minutes before the end', async () => {
    const { expiry, warned, pass } = watch(60);
    await pass(49);
    assert.deepEqual(warned, []);
    await pass(11);
    assert.deepEqual(warned, [10, 2]);
    expiry.stop();
  });

  it('does not warn of a short lifetime right after the start', async () => {
    const { expiry, warned, pass } = watch(5);
    await pass(5);
    assert.deepEqual(warned, [2]);
    expiry.stop();
  });

  it('warns of the new end after an extension, even after the last warning', async () => {
    const { expiry, state, ending, warned, pass } = watch(20);
    state.tunnel = ending(40);
    await pass(29);
    assert.deepEqual(warned, []);
    await pass(10);
    assert.deepEqual(warned, [10, 2]);
    state.tunnel = ending(60);
    await pass(20);
    assert.deepEqual(warned, [10, 2, 10, 2]);
    expiry.stop();
  });

  it('warns while the relay is unreachable, but not after the end of the tunnel', async () => {
    const { clock, expiry, state, warned, pass } = watch(15);
    state.isAway = true;
    await pass(6);
    assert.deepEqual(warned, [10]);
    expiry.stop();
    await pass(10);
    assert.deepEqual(warned, [10]);
    assert.deepEqual(clock.waiting, []);
  });

  describe('of a tunnel without a chosen lifetime', () => {
    it('extends it at half of its ttl, to an end one ttl away, for as long as it runs', async () => {
      const { clock, expiry, state, warned, extensions, pass } = watch(60, { isKept: true });
      await pass(29);
      assert.deepEqual(extensions, []);
      await pass(61);
      assert.deepEqual(extensions, ['1800s at 30', '1800s at 60', '1800s at 90']);
      assert.equal(Date.parse(state.tunnel.expires_at) - clock.now(), 60 * MINUTE);
      assert.equal(expiry.tunnel, state.tunnel);
      assert.deepEqual(warned, []);
      expiry.stop();
    });

    it('goes by the clock of the relay', async () => {
      for (const aheadMs of [-120 * MINUTE, 120 * MINUTE]) {
        const { expiry, extensions, pass } = watch(60, { isKept: true, aheadMs });
        await pass(31);
        assert.deepEqual(extensions, ['1800s at 30']);
        expiry.stop();
      }
    });

    it('does not extend one whose end others have moved further away', async () => {
      const { expiry, state, ending, extensions, pass } = watch(60, { isKept: true });
      state.tunnel = ending(240);
      await pass(209);
      assert.deepEqual(extensions, []);
      await pass(1);
      assert.deepEqual(extensions, ['1800s at 210']);
      expiry.stop();
    });

    it('tries again, and warns 10 and 2 minutes before the end', async () => {
      const { expiry, state, warned, extensions, pass } = watch(60, { isKept: true });
      state.isAway = true;
      await pass(49);
      assert.deepEqual(warned, []);
      assert.ok(state.calls > 15, `${state.calls} tries`);
      await pass(10);
      assert.deepEqual(warned, [10, 2]);
      state.isAway = false;
      await pass(1);
      assert.equal(extensions.length, 1);
      await pass(20);
      assert.deepEqual(warned, [10, 2]);
      expiry.stop();
    });

    it('warns of a short one as soon as its extension fails', async () => {
      const { expiry, state, warned, pass } = watch(4, { isKept: true });
      state.isAway = true;
      await pass(2);
      assert.deepEqual(warned, [2]);
      await pass(1);
      assert.deepEqual(warned, [2]);
      expiry.stop();
    });

    it('extends it late but in time after the machine slept', async () => {
      const { clock, expiry, extensions, pass } = watch(60, { isKept: true });
      await pass(10);
      clock.sleep(45 * MINUTE, false);
      await pass(1);
      assert.deepEqual(extensions, ['3360s at 56']);
      expiry.stop();
    });

    it('does not call a relay without end that extends nothing', async () => {
      const { clock, expiry, state, pass } = watch(1 / 30, { isKept: true });
      expiry.stop();
      assert.deepEqual(clock.waiting, []);
      const liar = new ExpiryWatch(state.tunnel, {
        clock,
        fetchTunnel: () => Promise.resolve(state.tunnel),
        extendTunnel: () => {
          state.calls += 1;
          return Promise.resolve(state.tunnel);
        },
        warn() {},
      });
      liar.start();
      await pass(5);
      assert.ok(state.calls <= 10, `${state.calls} calls`);
      liar.stop();
      assert.deepEqual(clock.waiting, []);
    });
  });
});
