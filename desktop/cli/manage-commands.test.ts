import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Tunnel } from '../../shared/tunnel.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { NO_FILES } from '../testing/files.ts';
import { contextOf, record } from '../testing/recorder.ts';
import { closeServers, startHttp } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { NoSuchTunnel } from './manage-commands.ts';

const OTHER: Tunnel = {
  ...TUNNEL,
  id: '1c3f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  slug: 'other',
  requests: 7,
  bytes_out: 2048,
};
/** Its name is the id of another tunnel. */
const CONFUSING: Tunnel = { ...TUNNEL, id: '2d3f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f', slug: OTHER.id };

/** Runs a command at a relay with these live tunnels. */
async function run(line: string, tunnels: Tunnel[] = [TUNNEL, OTHER]) {
  const calls: string[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.method !== 'GET') calls.push(`${request.method} ${request.url} ${body}`.trim());
    const answers: Record<string, unknown> = { GET: { tunnels }, DELETE: { status: 'closed' }, PUT: OTHER };
    response.end(JSON.stringify(answers[request.method ?? '']));
  }
  const relay = await startHttp((request, response) => void answer(request, response));
  const env = { CULVERT_RELAY: relay.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output));
  return { out: printed.out, calls };
}

describe('culvert list', () => {
  afterEach(closeServers);

  it('prints a table', async () => {
    const lines = (await run('list')).out.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^SLUG +STATE +PORT +EXPIRES +REQUESTS +IN +OUT +LETS IN +ADDRESS +ID$/);
    assert.match(
      lines[2] ?? '',
      /^other +offline +3000 +2026-07-1\d \d\d:\d\d:00 +7 +0 B +2\.0 kB +everybody +http:\S+ +1c3f/,
    );
    assert.equal(lines.length, 3);
  });

  it('shows the access policy and the domain of each tunnel', async () => {
    const url = 'https://app.example.com';
    const locked = { ...TUNNEL, access: { password: true, allow: ['10.0.0.0/8'] } as const, public_url: url };
    assert.match(
      (await run('list', [locked])).out,
      / password, only from 10\.0\.0\.0\/8 +https:\/\/app\.example\.com /,
    );
  });

  it("prints the relay's response with --json", async () => {
    assert.deepEqual(JSON.parse((await run('list --json')).out), { tunnels: [TUNNEL, OTHER] });
  });

  it('reports that there are no tunnels', async () =>
    assert.equal((await run('list', [])).out, 'No live tunnels.\n'));
});

describe('culvert close', () => {
  afterEach(closeServers);

  it('finds a tunnel by its id or its slug, in any case', async () => {
    for (const name of [OTHER.id, 'other', 'OTHER', OTHER.id.toUpperCase()]) {
      assert.deepEqual((await run(`close ${name}`)).calls, [`DELETE /v1/tunnels/${OTHER.id}`]);
    }
  });

  it('prefers an id, even if another tunnel has it as its name', async () => {
    const { calls } = await run(`close ${OTHER.id}`, [CONFUSING, OTHER]);
    assert.deepEqual(calls, [`DELETE /v1/tunnels/${OTHER.id}`]);
  });

  it('closes nothing for an unknown name', async () => {
    await assert.rejects(run('close third'), NoSuchTunnel);
  });
});

describe('culvert extend', () => {
  afterEach(closeServers);

  it('extends by the given time, or by the time to live', async () => {
    assert.deepEqual((await run('extend other --ttl 30m')).calls, [
      `PUT /v1/tunnels/${OTHER.id}/extend {"ttl":"30m"}`,
    ]);
    const { calls, out } = await run('extend other');
    assert.deepEqual(calls, [`PUT /v1/tunnels/${OTHER.id}/extend {}`]);
    assert.match(out, /now expires 2026-07-1/);
  });
});
