import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { OPEN } from '../../../shared/access.ts';
import { NO_FILES, record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { closeServers, startHttp } from '../../testing/servers.ts';
import { readArguments } from '../commands/commands.ts';
import { hostOf, serveTunnel } from './serve-tunnel.ts';

/** Runs `culvert http 3000 --json` with a REST interface that responds as told; it offers no WebSockets. */
async function run(
  routes: Record<string, (response: ServerResponse) => void>,
  interrupt = new AbortController(),
) {
  const relay = await startHttp((request, response) => {
    request.resume();
    routes[request.method ?? '']?.(response);
  });
  const env = { CULVERT_RELAY: relay.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { name, given } = readArguments(['http', '3000', '--json'], env, NO_FILES);
  assert.ok(name === 'http');
  const { printed, output } = record();
  const { code } = await serveTunnel({
    host: hostOf(given, undefined),
    spec: { ...given.tunnel, access: OPEN },
    reporter: { offline() {} },
    output,
    interrupted: interrupt.signal,
    clock: new FakeClock(),
  });
  return { code, err: printed.err };
}

const answer =
  (status: number, body: unknown, headers?: Record<string, string>) => (response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(JSON.stringify(body));
  };

describe('serveTunnel', () => {
  afterEach(closeServers);

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
      const interrupt = new AbortController();
      const created = answer(201, TUNNEL);
      const POST = (response: ServerResponse): void => (interrupt.abort(), created(response));
      const { code, err } = await run({ POST, DELETE: answer(status, { error }) }, interrupt);
      assert.equal(code, 0);
      assert.match(err, said);
    });
});
