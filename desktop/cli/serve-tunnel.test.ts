import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { OPEN } from '../../shared/access.ts';
import { systemClock } from '../client/clock.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { NO_FILES, record } from '../testing/command-context.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { closeServers, startHttp } from '../testing/servers.ts';
import { readArguments } from './commands/commands.ts';
import { JsonReporter } from './output/reporter.ts';
import { serveTunnel } from './serve-tunnel.ts';

/** Runs `culvert http 3000 --json` with a REST interface that responds as told; it offers no WebSockets. */
async function run(
  routes: Record<string, (response: ServerResponse) => void>,
  interrupted: AbortSignal = new AbortController().signal,
) {
  const relay = await startHttp((request, response) => {
    request.resume();
    routes[request.method ?? '']?.(response);
  });
  const env = { CULVERT_RELAY: relay.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { name, given } = readArguments(['http', '3000', '--json'], env, NO_FILES);
  assert.ok(name === 'http');
  const { printed, output } = record();
  const spec = { ...given.tunnel, access: OPEN };
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
  return { code, events, err: printed.err };
}

const answer =
  (status: number, body: unknown, headers?: Record<string, string>) => (response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(JSON.stringify(body));
  };

describe('serveTunnel', () => {
  afterEach(closeServers);

  it('exits with 1 when the relay limits creates, and says when to try again', async () => {
    const refuse = answer(429, { error: 'rate limit exceeded' }, { 'retry-after': '6' });
    const { code, events } = await run({ POST: refuse });
    assert.deepEqual([code, events.map(({ reason }) => reason)], [1, ['failed']]);
    assert.match(events[0]?.message ?? '', /Try again in 6 s/);
  });

  for (const [what, status, error, said] of [
    [
      'reports how long a tunnel lives that could not be closed',
      503,
      'service unavailable',
      /could not be closed and expires 2026-07-10 \d\d:00:00.* service unavailable/,
    ],
    ['treats a missing tunnel as closed', 404, 'tunnel not found', /^$/],
  ] as const)
    it(what, async () => {
      const routes = { POST: answer(201, TUNNEL), DELETE: answer(status, { error }) };
      const { code, err } = await run(routes, AbortSignal.abort());
      assert.equal(code, 0);
      assert.match(err, said);
    });
});
