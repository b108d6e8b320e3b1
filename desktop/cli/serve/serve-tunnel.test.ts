import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { OPEN } from '../../../shared/access.ts';
import type { KeptName } from '../../../shared/names.ts';
import { NO_FILES, record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { fakeHost } from '../../testing/served.ts';
import { closeServers, startHttp } from '../../testing/servers.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { readArguments } from '../commands/commands.ts';
import type { Reporter } from '../output/reporter.ts';
import { hostOf, serveTunnel } from './serve-tunnel.ts';

/** The sentences about the name of a tunnel that is closed with Ctrl-C once it is online. @param names as the relay keeps them */
async function closeNamed(names: readonly KeptName[] | undefined, reporter?: Reporter) {
  const { host, api, serve } = fakeHost();
  if (names === undefined) api.listNames = () => Promise.reject(new Error('the relay keeps no names'));
  else api.names = [...names];
  const interrupt = new AbortController();
  const told: string[] = [];
  const learnt = Promise.withResolvers<void>();
  const list = api.listNames.bind(api);
  api.listNames = () => list().finally(() => void setImmediate().then(learnt.resolve));
  const end = serveTunnel({
    host,
    spec: { ...SPEC, name: 'my-app', access: OPEN },
    reporter: reporter ?? { offline() {}, kept: ({ name }) => void told.push(name) },
    output: record().output,
    interrupted: interrupt.signal,
    clock: new FakeClock(),
  });
  await setImmediate();
  serve.last.onState({ name: 'online' });
  if (reporter === undefined) await learnt.promise;
  interrupt.abort();
  const { why } = await end;
  return { why, told, calls: api.calls };
}

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

const kept = (away: string | null): KeptName[] => [
  { name: 'my-app', created_at: TUNNEL.created_at, away, until: null, tunnel_id: TUNNEL.id },
];

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

  for (const [what, names, said] of [
    ['its message', kept('Back at nine.\nCall me.'), 'Visitors of my-app now read: Back at nine. …'],
    ['how to leave a message', kept(null), /^Visitors of my-app are told .* run "culvert away my-app"\.$/],
    [
      'how long its name is reserved',
      [],
      /^my-app stays reserved for your account until tomorrow \d\d:\d\d, and its visitors /,
    ],
  ] as const)
    it(`says at the end of a named tunnel ${what}`, async () => {
      const { why, told } = await closeNamed(names);
      assert.ok(why.startsWith('Tunnel closed. '), why);
      const rest = why.slice('Tunnel closed. '.length);
      if (typeof said === 'string') assert.equal(rest, said);
      else assert.match(rest, said);
      assert.deepEqual(
        told,
        names.map(({ name }) => name),
      );
    });

  it('says nothing about a name if the relay does not, or nobody reads it', async () => {
    assert.equal((await closeNamed(undefined)).why, 'Tunnel closed.');
    const { why, calls } = await closeNamed(kept('Later.'), { offline() {} });
    assert.deepEqual([why, calls], ['Tunnel closed.', ['create 3000', 'close 1']]);
  });
});
