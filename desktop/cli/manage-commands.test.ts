import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Prompt } from '../client/config/relay-access.ts';
import { describeFailure } from '../client/failures.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { contextOf, NO_FILES, record } from '../testing/command-context.ts';
import { closeServers, type RestResponse, startHttp, startRestRelay } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { NoSuchLink, NoSuchTunnel } from './manage-commands.ts';

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
async function runAt(line: string, tunnels: Tunnel[] = [TUNNEL, OTHER]) {
  const calls: string[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
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
    const lines = (await runAt('list')).out.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^SLUG +STATE +PORT +EXPIRES +REQUESTS +IN +OUT +ACCESS +ADDRESS +ID$/);
    assert.match(
      lines[2] ?? '',
      /^other +offline +3000 +2026-07-1\d \d\d:\d\d:00 +7 +0 B +2\.0 kB +everyone +http:\S+ +1c3f/,
    );
    assert.equal(lines.length, 3);
  });

  it('shows the access policy and the domain of each tunnel', async () => {
    const url = 'https://app.example.com';
    const locked = { ...TUNNEL, access: { password: true, allow: ['10.0.0.0/8'] } as const, public_url: url };
    assert.match(
      (await runAt('list', [locked])).out,
      / password, only from 10\.0\.0\.0\/8 +https:\/\/app\.example\.com /,
    );
  });

  it("prints the relay's response with --json", async () => {
    assert.deepEqual(JSON.parse((await runAt('list --json')).out), { tunnels: [TUNNEL, OTHER] });
  });

  it('reports that there are no tunnels', async () =>
    assert.equal((await runAt('list', [])).out, 'No live tunnels.\n'));
});

describe('culvert close', () => {
  afterEach(closeServers);

  it('finds a tunnel by its id or its slug, in any case', async () => {
    for (const name of [OTHER.id, 'other', 'OTHER', OTHER.id.toUpperCase()]) {
      assert.deepEqual((await runAt(`close ${name}`)).calls, [`DELETE /v1/tunnels/${OTHER.id}`]);
    }
  });

  it('prefers an id, even if another tunnel has it as its name', async () => {
    const { calls } = await runAt(`close ${OTHER.id}`, [CONFUSING, OTHER]);
    assert.deepEqual(calls, [`DELETE /v1/tunnels/${OTHER.id}`]);
  });

  it('closes nothing for an unknown name', async () => {
    await assert.rejects(runAt('close third'), NoSuchTunnel);
  });
});

describe('culvert extend', () => {
  afterEach(closeServers);

  it('extends by the given time, or by the time to live', async () => {
    assert.deepEqual((await runAt('extend other --ttl 30m')).calls, [
      `PUT /v1/tunnels/${OTHER.id}/extend {"ttl":"30m"}`,
    ]);
    const { calls, out } = await runAt('extend other');
    assert.deepEqual(calls, [`PUT /v1/tunnels/${OTHER.id}/extend {}`]);
    assert.match(out, /now expires 2026-07-1/);
  });
});

const LOCKED: Tunnel = { ...TUNNEL, access: { basic: ['ann'], links: true } };
const LINK = {
  id: '0123456789abcdef',
  note: 'for the review',
  created_at: TUNNEL.created_at,
  expires_at: TUNNEL.expires_at,
};
const PROMPT: Prompt = {
  isInteractive: true,
  ask: () => assert.fail('what is typed would be shown'),
  askSecret: () => Promise.resolve('typed'),
};

/** Runs a command at a relay with two tunnels that responds to everything but their list as told. */
async function run(line: string, answer: (call: string) => RestResponse, tunnels = [LOCKED, OTHER]) {
  const { address, calls } = await startRestRelay((call) =>
    call === 'GET /v1/tunnels' ? [200, { tunnels }] : answer(call),
  );
  const env = { CULVERT_RELAY: address.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output, PROMPT));
  return { ...printed, calls: calls.filter((call) => call !== 'GET /v1/tunnels') };
}

const locked = (): RestResponse => [200, { ...TUNNEL, access: { password: true } }];
const none = (): RestResponse => assert.fail('nothing had to be asked');

describe('culvert access', () => {
  afterEach(closeServers);

  it('shows the access policy', async () => {
    assert.equal(
      (await run('access my-app', none)).out,
      'Access to my-app is restricted: login (ann) or signed link.\n',
    );
    assert.equal((await run('access OTHER', none)).out, 'other is open to everyone.\n');
    assert.deepEqual(JSON.parse((await run('access my-app --json', none)).out), LOCKED);
    await assert.rejects(run('access third', none), NoSuchTunnel);
  });

  it('shows the new policy and the previous one', async () => {
    const { out, err, calls } = await run('access my-app --auth ann --knock', () => [
      200,
      { ...TUNNEL, access: { basic: ['ann'], knock: true } },
    ]);
    assert.deepEqual(calls, [
      `PUT /v1/tunnels/${TUNNEL.id}/access {"basic":[{"user":"ann","password":"typed"}],"knock":true}`,
    ]);
    assert.equal(
      out,
      'Access to my-app is restricted: login (ann) or your approval.\nBefore: login (ann) or signed link.\n',
    );
    assert.equal(err, '');
  });

  it('shows a generated password, and warns of one that other users can see', async () => {
    const text = await run('access my-app --password', locked);
    const [, made = ''] = /^Password: ([a-z]+-[a-z]+-[a-z]+)$/m.exec(text.out) ?? [];
    assert.deepEqual(text.calls, [`PUT /v1/tunnels/${TUNNEL.id}/access {"password":"${made}"}`]);
    const json = await run('access my-app --password --json', locked);
    assert.match((JSON.parse(json.out) as { password: string }).password, /^[a-z]+-[a-z]+-[a-z]+$/);
    const given = await run('access my-app --password hidden', locked);
    assert.match(given.err, /^culvert: The password of --password is in your shell's history/);
    assert.doesNotMatch(given.out + given.err, /hidden/);
  });

  it('shows a new token once, and when tokens were used', async () => {
    const token = 'cvp_0123456789abcdefghijklmnopqrstuv';
    const tokens = [{ name: 'ci' }, { name: 'agent', token }];
    const { out, calls } = await run('access my-app --token ci --token agent', () => [
      200,
      { ...TUNNEL, access: { tokens } },
    ]);
    assert.deepEqual(calls, [
      `PUT /v1/tunnels/${TUNNEL.id}/access {"tokens":[{"name":"ci"},{"name":"agent"}]}`,
    ]);
    assert.equal(
      out,
      `Access to my-app is restricted: token (ci, agent).\nToken agent: ${token}\nBefore: login (ann) or signed link.\n`,
    );
  });

  it('opens a tunnel to everybody only if asked to', async () => {
    const { out, calls } = await run('access my-app --open', () => [200, TUNNEL]);
    assert.deepEqual(calls, [`PUT /v1/tunnels/${TUNNEL.id}/access {}`]);
    assert.match(out, /^my-app is open to everyone\.\n/);
    await assert.rejects(run('access my-app --open --links', none), /--open gives everyone access/);
  });
});

describe('culvert link', () => {
  afterEach(closeServers);

  it('prints only the link if it may be passed on', async () => {
    const url = 'http://my-app.localhost:8080/cart?step=2&culvert_pass=abc';
    const { out, err, calls } = await run('link my-app --ttl 2h --note review --path /cart?step=2', () => [
      201,
      { ...LINK, url },
    ]);
    assert.deepEqual(calls, [
      `POST /v1/tunnels/${TUNNEL.id}/links {"ttl":"2h","note":"review","path":"/cart?step=2"}`,
    ]);
    assert.equal(out, `${url}\n`);
    assert.match(
      err,
      /^Valid until 2026-.*\. To revoke it, run "culvert link --revoke 0123456789abcdef"\.\n$/,
    );
    const json = await run('link my-app --json', () => [201, { ...LINK, url: 'http://x/?culvert_pass=a' }]);
    assert.deepEqual(JSON.parse(json.out), { ...LINK, url: 'http://x/?culvert_pass=a' });
    assert.equal(json.err, '');
  });

  it('explains what to do if the access policy has no links', async () => {
    const refusal: RestResponse = [409, { error: 'signed links do not let anybody in', code: 'links-off' }];
    await assert.rejects(
      run('link other', () => refusal),
      (error) =>
        error instanceof RelayRefusal && /"culvert access" with --links/.test(describeFailure(error)),
    );
  });

  it('revokes a link of any tunnel', async () => {
    const path = (tunnel: Tunnel) => `DELETE /v1/tunnels/${tunnel.id}/links/${LINK.id}`;
    const { out, calls } = await run(`link --revoke ${LINK.id}`, (call) =>
      call === path(OTHER)
        ? [200, { status: 'revoked' }]
        : [404, { error: 'link not found', code: 'link-not-found' }],
    );
    assert.deepEqual(calls, [path(LOCKED), path(OTHER)]);
    assert.equal(out, 'Revoked.\n');
  });

  it('reports that no tunnel has it, or that this cannot be known', async () => {
    await assert.rejects(
      run(`link --revoke ${LINK.id}`, () => [404, { error: 'link not found', code: 'link-not-found' }]),
      NoSuchLink,
    );
    await assert.rejects(
      run(`link --revoke ${LINK.id}`, () => [503, { error: 'service unavailable', code: 'unavailable' }]),
      /service unavailable/,
    );
  });
});

describe('culvert links', () => {
  afterEach(closeServers);

  it('shows the links of a tunnel', async () => {
    const links = [LINK, { ...LINK, id: 'fedcba9876543210', note: '', path: '/x' }];
    const { out } = await run('links my-app', () => [200, { links }]);
    const lines = out.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^LINK +CREATED +EXPIRES +PATH +NOTE$/);
    assert.match(lines[1] ?? '', /^0123456789abcdef +2026-\S+ \S+ +2026-\S+ \S+ +\/ +for the review$/);
    assert.match(lines[2] ?? '', /^fedcba9876543210 .* \/x$/);
    assert.deepEqual(JSON.parse((await run('links my-app --json', () => [200, { links }])).out), { links });
    assert.equal((await run('links my-app', () => [200, { links: [] }])).out, 'No signed links.\n');
  });
});

describe('culvert knock', () => {
  afterEach(closeServers);

  it('approves or denies', async () => {
    const line = `PUT /v1/tunnels/${TUNNEL.id}/knocks/k1`;
    const admitted = await run('knock my-app k1 --admit --for 8h', () => [200, {}]);
    assert.deepEqual(
      [admitted.calls, admitted.out],
      [[`${line} {"admit":true,"for":"8h"}`], 'Approved the visitor.\n'],
    );
    const refused = await run('knock my-app k1 --refuse --json', () => [200, {}]);
    assert.deepEqual([refused.calls, refused.out], [[`${line} {"admit":false}`], '{"status":"refused"}\n']);
  });
});
