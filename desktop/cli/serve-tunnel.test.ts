import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { OPEN } from '../../shared/access.ts';
import { systemClock } from '../client/clock.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { NO_FILES, record } from '../testing/command-context.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { closeServers, startHttp } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { JsonReporter } from './reporter.ts';
import { serveTunnel } from './serve-tunnel.ts';

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
