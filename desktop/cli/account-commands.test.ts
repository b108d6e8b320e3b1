import assert from 'node:assert/strict';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { UsageError } from '../client/failures.ts';
import { Network } from '../client/network/network.ts';
import { DomainUnsupported, RelayRefusal, RelayUnreachable } from '../client/relay/errors.ts';
import { ACCOUNT, TUNNEL } from '../testing/fake-platform.ts';
import { contextOf, NO_FILES, record } from '../testing/command-context.ts';
import { closeServers, type RestResponse, startRestRelay } from '../testing/servers.ts';
import { NoSuchDomain, NoSuchMember, runStatus } from './account-commands.ts';
import { readArguments } from './commands.ts';
import { localTime } from './format.ts';

const DOMAIN: Domain = {
  id: '9a1f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  domain: 'app.example.com',
  status: 'verified',
  records: [],
  created_at: TUNNEL.created_at,
  verified_at: TUNNEL.created_at,
  failing_since: null,
  ends_at: null,
};
const SECOND: Domain = { ...DOMAIN, domain: 'b.example.com', status: 'pending', verified_at: null };

/** @param domains what the relay says of them */
async function status(
  tunnels: Tunnel[],
  json = false,
  domains: RestResponse = [200, { domains: [] }],
  account: Account = ACCOUNT,
): Promise<string> {
  const { address } = await startRestRelay((call) => {
    // The relay's clock counts, not this machine's.
    const date = new Date(Date.parse(TUNNEL.expires_at) - (2.5 * 3600 + 30) * 1000).toUTCString();
    if (call.endsWith('domains')) return [domains[0], domains[1], { date }];
    return [200, call.endsWith('account') ? account : { tunnels }, { date }];
  });
  const { printed, output } = record();
  const network = new Network();
  const command = { relay: address, key: `cvt_${'k'.repeat(32)}`, network, json } as const;
  await runStatus(command, output);
  return printed.out.replaceAll(address.origin, 'RELAY');
}

describe('runStatus', () => {
  afterEach(closeServers);

  it('shows account, limits, and live tunnels with their remaining time', async () => {
    const tunnel = { ...TUNNEL, idle_ttl: true, requests: 12, bytes_out: 2048 };
    assert.equal(
      await status([tunnel]),
      `Relay         RELAY
Account       default (dev plan), subdomain demo
Tunnels       1 live, at most 1000
Time to live  1 h by default, at most 7 d
Creates       10 per minute, with bursts of up to 5
Connections   no limit

TUNNEL  STATE    PORT  TIME LEFT        REQUESTS  IN   OUT     ACCESS    ADDRESS
my-app  offline  3000  2 h 30 min idle  12        0 B  2.0 kB  everyone  http://my-app.demo.localhost:8080
`,
    );
  });

  it("shows the bounds of an agent's key", async () => {
    const account = { ...ACCOUNT, agent_key: { name_prefix: 'ai-' } };
    const text = await status([], false, undefined, account);
    assert.match(text, /^Key +an agent's: names begin with ai-, and tunnels need an access policy$/m);
  });

  it('shows no table if there are no tunnels', async () => {
    assert.match(await status([]), /^Tunnels {7}0 live.*[^]*Connections .*\n$/m);
  });

  it('prints JSON', async () => {
    const printed: unknown = JSON.parse(await status([TUNNEL], true));
    assert.deepEqual(printed, { relay: 'RELAY', account: ACCOUNT, tunnels: [TUNNEL], domains: [] });
  });

  it('shows the access policies, and the domains of the account', async () => {
    const domains: RestResponse = [200, { domains: [DOMAIN, SECOND] }];
    const locked = { ...TUNNEL, access: { links: true } as const, public_url: 'https://app.example.com' };
    const text = await status([locked], false, domains);
    assert.match(text, /^Domains +app\.example\.com \(verified\), b\.example\.com \(pending\)$/m);
    assert.match(text, / signed link +https:\/\/app\.example\.com$/m);
    const printed = JSON.parse(await status([], true, domains)) as { domains: Domain[] };
    assert.deepEqual(printed.domains, [DOMAIN, SECOND]);
  });

  it('omits domains if the relay or the key does not support them', async () => {
    for (const refused of [
      [404, { error: 'not found' }],
      [403, { error: 'this key is for one tunnel' }],
    ] as RestResponse[])
      assert.doesNotMatch(await status([TUNNEL], false, refused), /Domains/);
    await assert.rejects(status([TUNNEL], false, [500, { error: 'internal error' }]));
  });
});

const ID = '0f0c5e9a-6a6e-4d53-9d0c-0a1b2c3d4e5f';
const PENDING: Domain = {
  id: ID,
  domain: 'app.example.com',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'app.example.com', value: 'relay.example.net' },
    { type: 'TXT', name: '_culvert.app.example.com', value: 'culvert-verify=0123' },
  ],
  created_at: '2026-11-23T10:00:00.000Z',
  verified_at: null,
  failing_since: null,
  ends_at: '2026-12-23T10:00:00.000Z',
};
const VERIFIED: Domain = {
  ...PENDING,
  status: 'verified',
  verified_at: '2026-11-23T11:00:00.000Z',
  ends_at: null,
};
const RIGHT: CheckedDomain['checks'] = [
  { what: 'address', ok: true, found: [], problem: '' },
  { what: 'proof', ok: true, found: [], problem: '' },
];
const RECORDS = `TYPE   NAME                      VALUE
CNAME  app.example.com           relay.example.net
TXT    _culvert.app.example.com  culvert-verify=0123
`;

/** Runs a command at a relay that has one domain and responds to everything else as told. */
async function runDomain(
  line: string,
  answer: (call: string) => RestResponse,
  domains: unknown[] = [PENDING],
) {
  const { address, calls } = await startRestRelay((call) =>
    call === 'GET /v1/domains' ? [200, { domains }] : answer(call),
  );
  const env = { CULVERT_RELAY: address.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  const code = await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output));
  return { ...printed, code, calls: calls.filter((call) => call !== 'GET /v1/domains') };
}

const none = (): RestResponse => assert.fail('nothing had to be asked');

describe('culvert domain', () => {
  afterEach(closeServers);

  it('prints the records of an added domain, one per line', async () => {
    const { out, calls, code } = await runDomain('domain add App.Example.com', () => [201, PENDING]);
    assert.deepEqual(calls, ['POST /v1/domains {"domain":"App.Example.com"}']);
    assert.equal(
      out,
      `Create these records at the DNS provider for app.example.com:\n\n${RECORDS}\n` +
        'Then run "culvert domain verify app.example.com". It can take a few minutes for the records to become visible everywhere.\n',
    );
    assert.equal(code, 0);
    const json = await runDomain('domain add app.example.com --json', () => [201, PENDING]);
    assert.deepEqual(JSON.parse(json.out), PENDING);
  });

  it('reports that a domain is already verified', async () => {
    const { out } = await runDomain('domain add app.example.com', () => [201, VERIFIED]);
    assert.equal(
      out,
      'app.example.com is verified. To use it, run "culvert http PORT --domain app.example.com".\n',
    );
  });

  it('reports what is missing, and exits with 1', async () => {
    const checks: CheckedDomain['checks'] = [
      { what: 'address', ok: false, found: ['203.0.113.7'], problem: 'It leads elsewhere.' },
      { what: 'proof', ok: false, found: [], problem: 'There is no TXT record.' },
    ];
    const { out, calls, code } = await runDomain('domain verify APP.example.com.', () => [
      200,
      { ...PENDING, checks },
    ]);
    assert.deepEqual(calls, [`POST /v1/domains/${ID}/verify`]);
    assert.equal(
      out,
      'app.example.com is not verified yet.\n\nIt leads elsewhere.\n  found: 203.0.113.7\nThere is no TXT record.\n\n' +
        `It needs these DNS records:\n\n${RECORDS}`,
    );
    assert.equal(code, 1);
  });

  it('shows until when a domain with wrong records is kept', async () => {
    const failing = { ...VERIFIED, failing_since: PENDING.created_at, ends_at: PENDING.ends_at };
    const checks = RIGHT.map((check) => ({ ...check, ok: check.what === 'proof', problem: 'Wrong.' }));
    const { out, code } = await runDomain(`domain verify ${ID}`, () => [200, { ...failing, checks }]);
    const until = localTime(PENDING.ends_at ?? '');
    assert.ok(
      out.startsWith(`app.example.com is still yours until ${until}, but its DNS records are wrong.\n`),
      out,
    );
    assert.equal(code, 1);
  });

  it('reports that it is verified', async () => {
    const { out, code } = await runDomain('domain verify app.example.com', () => [
      200,
      { ...VERIFIED, checks: RIGHT },
    ]);
    assert.equal(
      out,
      'app.example.com is verified. To use it, run "culvert http PORT --domain app.example.com".\n',
    );
    assert.equal(code, 0);
  });

  it('lists domains', async () => {
    const other = {
      ...VERIFIED,
      domain: 'shop.example',
      failing_since: PENDING.created_at,
      ends_at: PENDING.ends_at,
    };
    const until = localTime(PENDING.ends_at ?? '');
    const text = await runDomain('domain', none, [PENDING, { ...VERIFIED, domain: 'b.example' }, other]);
    const lines = text.out.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => line.split(/ {2,}/).slice(0, 3)),
      [
        ['DOMAIN', 'STATUS', 'EXPIRES'],
        ['app.example.com', 'pending', until],
        ['b.example', 'verified', ID],
        ['shop.example', 'failing', until],
      ],
    );
    assert.deepEqual(JSON.parse((await runDomain('domain list --json', none)).out), { domains: [PENDING] });
    assert.match((await runDomain('domain list', none, [])).out, /^No domains/);
  });

  it('removes an existing domain', async () => {
    const { out, calls } = await runDomain('domain remove app.example.com', () => [
      200,
      { status: 'removed' },
    ]);
    assert.deepEqual([out, calls], ['Removed app.example.com.\n', [`DELETE /v1/domains/${ID}`]]);
    await assert.rejects(runDomain('domain remove other.example.com', none), NoSuchDomain);
  });

  it('reports that a relay is too old', async () => {
    await assert.rejects(
      runDomain('domain add app.example.com', () => [404, { error: 'not found', code: 'not-found' }]),
      DomainUnsupported,
    );
  });

  it('rejects records with anything but plain values', async () => {
    for (const value of ['$(reboot)', 'a b', '\u001b[2J', '']) {
      const records = [{ type: 'TXT', name: 'x', value }];
      await assert.rejects(
        runDomain('domain add app.example.com', () => [201, { ...PENDING, records }]),
        RelayUnreachable,
      );
    }
  });

  for (const line of [
    'domain add',
    'domain add https://app.example.com',
    'domain add localhost',
    'domain list x',
    'domain sell app.example.com',
    'domain add a.example b.example',
  ]) {
    it(`rejects "${line}"`, () => assert.rejects(runDomain(line, none), UsageError));
  }
});

const AT = '2026-11-23T10:00:00.000Z';
const ANN = '0f0c5e9a-6a6e-4d53-9d0c-0a1b2c3d4e5f';
const BOB = '1f0c5e9a-6a6e-4d53-9d0c-0a1b2c3d4e5f';
const KEY = { hint: 'cvt_abcd', created_at: AT, expires_at: null };
const TEAM = {
  keys: [
    { ...KEY, id: BOB.replace('1', '2'), label: 'olga', scope: 'owner', last_used_at: AT },
    { ...KEY, id: ANN, label: 'ann', scope: 'all', last_used_at: null },
  ],
  invites: [{ id: BOB, label: 'bob', expires_at: AT }],
};

/** Runs a command at a relay that has one team and responds to everything else as told. */
async function runTeam(line: string, answer: (call: string) => RestResponse = none, team: unknown = TEAM) {
  const { address, calls } = await startRestRelay((call) =>
    call === 'GET /v1/team' ? [200, team] : answer(call),
  );
  const env = { CULVERT_RELAY: address.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  const code = await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output));
  return { ...printed, code, calls: calls.filter((call) => call !== 'GET /v1/team') };
}

describe('culvert team', () => {
  afterEach(closeServers);

  it('lists keys and open invitations', async () => {
    for (const line of ['team', 'team list']) {
      const { out } = await runTeam(line);
      assert.deepEqual(
        out
          .trimEnd()
          .split('\n')
          .map((row) => row.split(/ {2,}/).slice(0, 3)),
        [
          ['LABEL', 'ROLE', 'LAST USED'],
          ['olga', 'owner', localTime(AT)],
          ['ann', 'member', 'never'],
          ['bob', 'invited', `until ${localTime(AT)}`],
        ],
      );
    }
    assert.deepEqual(JSON.parse((await runTeam('team list --json')).out), TEAM);
  });

  it('prints a label and an address for each invitation', async () => {
    const url = `https://relay.example.com/invite/${'x'.repeat(32)}`;
    const invites = ['ann', 'bob'].map((label) => ({ id: ANN, label, expires_at: AT, url }));
    const { out, calls } = await runTeam('team invite ann bob --ttl 72h', () => [201, { invites }]);
    assert.deepEqual(calls, ['POST /v1/team/invites {"labels":["ann","bob"],"ttl":"72h"}']);
    assert.equal(out, `ann\t${url}\nbob\t${url}\n`);
  });

  it('revokes by label or id, keys and invitations', async () => {
    for (const [who, id, label] of [
      ['ann', ANN, 'ann'],
      [ANN, ANN, 'ann'],
      ['bob', BOB, 'bob'],
    ] as const) {
      const { out, calls } = await runTeam(`team revoke ${who}`, () => [200, { id, status: 'revoked' }]);
      assert.deepEqual([out, calls], [`Revoked "${label}".\n`, [`DELETE /v1/team/${id}`]]);
    }
  });

  it('does not guess whom to revoke', async () => {
    await assert.rejects(runTeam('team revoke eve'), NoSuchMember);
    const twice = { ...TEAM, invites: [{ id: BOB, label: 'ann', expires_at: AT }] };
    await assert.rejects(runTeam('team revoke ann', none, twice), /2 keys and invitations have the label/);
  });

  it('shows what was done', async () => {
    const acts = [
      { at: AT, actor: 'key:1', action: 'team.close', subject: 'web', detail: 'of "ann", by "bob"' },
    ];
    const { out } = await runTeam('team audit', () => [200, { acts }]);
    assert.match(out, /team\.close +web +of "ann", by "bob"\n$/);
    assert.match(
      (await runTeam('team audit', () => [200, { acts: [] }])).out,
      /^Nothing has been recorded yet/,
    );
  });

  it("passes on that the key is not an owner's", async () => {
    const error = { error: 'this api key is valid for tunnels only', code: 'key-scope' };
    await assert.rejects(
      runTeam('team audit', () => [403, error]),
      RelayRefusal,
    );
  });

  it('rejects responses that could write to the terminal', async () => {
    const evil = [{ id: ANN, label: 'a\u001b[2J', expires_at: AT, url: 'https://relay.example.com/x' }];
    await assert.rejects(
      runTeam('team invite a', () => [201, { invites: evil }]),
      RelayUnreachable,
    );
    const link = [{ id: ANN, label: 'a', expires_at: AT, url: 'javascript:alert(1)' }];
    await assert.rejects(
      runTeam('team invite a', () => [201, { invites: link }]),
      RelayUnreachable,
    );
  });

  for (const line of [
    'team invite',
    'team revoke',
    'team revoke ann bob',
    'team list x',
    'team list --ttl 1h',
    'team fire ann',
    'team invite ann --ttl soon',
  ]) {
    it(`rejects "${line}"`, () => assert.rejects(runTeam(line), UsageError));
  }
});
