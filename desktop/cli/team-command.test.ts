import assert from 'node:assert/strict';
import { UsageError } from '../client/failures.ts';
import { RelayRefusal, RelayUnreachable } from '../client/relay/errors.ts';
import { NO_FILES } from '../testing/files.ts';
import { contextOf, record } from '../testing/recorder.ts';
import { type RestResponse, startRestRelay } from '../testing/rest-relay.ts';
import { closeServers } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { localTime } from './format.ts';
import { NoSuchMember } from './team-command.ts';

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
async function run(line: string, answer: (call: string) => RestResponse = none, team: unknown = TEAM) {
  const { address, calls } = await startRestRelay((call) =>
    call === 'GET /v1/team' ? [200, team] : answer(call),
  );
  const env = { CULVERT_RELAY: address.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  const code = await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output));
  return { ...printed, code, calls: calls.filter((call) => call !== 'GET /v1/team') };
}

const none = (): RestResponse => assert.fail('nothing had to be asked');

describe('culvert team', () => {
  afterEach(closeServers);

  it('lists keys and open invitations', async () => {
    for (const line of ['team', 'team list']) {
      const { out } = await run(line);
      assert.deepEqual(
        out
          .trimEnd()
          .split('\n')
          .map((row) => row.split(/ {2,}/).slice(0, 3)),
        [
          ['LABEL', 'ACCESS', 'LAST USED'],
          ['olga', 'owner', localTime(AT)],
          ['ann', 'member', 'never'],
          ['bob', 'invited', `until ${localTime(AT)}`],
        ],
      );
    }
    assert.deepEqual(JSON.parse((await run('team list --json')).out), TEAM);
  });

  it('prints a label and an address for each invitation', async () => {
    const url = `https://relay.example.com/invite/${'x'.repeat(32)}`;
    const invites = ['ann', 'bob'].map((label) => ({ id: ANN, label, expires_at: AT, url }));
    const { out, calls } = await run('team invite ann bob --ttl 72h', () => [201, { invites }]);
    assert.deepEqual(calls, ['POST /v1/team/invites {"labels":["ann","bob"],"ttl":"72h"}']);
    assert.equal(out, `ann\t${url}\nbob\t${url}\n`);
  });

  it('revokes by label or id, keys and invitations', async () => {
    for (const [who, id, label] of [
      ['ann', ANN, 'ann'],
      [ANN, ANN, 'ann'],
      ['bob', BOB, 'bob'],
    ] as const) {
      const { out, calls } = await run(`team revoke ${who}`, () => [200, { id, status: 'revoked' }]);
      assert.deepEqual([out, calls], [`Revoked "${label}".\n`, [`DELETE /v1/team/${id}`]]);
    }
  });

  it('does not guess whom to revoke', async () => {
    await assert.rejects(run('team revoke eve'), NoSuchMember);
    const twice = { ...TEAM, invites: [{ id: BOB, label: 'ann', expires_at: AT }] };
    await assert.rejects(
      run('team revoke ann', none, twice),
      /^NoSuchMember|2 keys and invitations have the label/,
    );
  });

  it('shows what was done', async () => {
    const acts = [
      { at: AT, actor: 'key:1', action: 'team.close', subject: 'web', detail: 'of "ann", by "bob"' },
    ];
    const { out } = await run('team audit', () => [200, { acts }]);
    assert.match(out, /team\.close +web +of "ann", by "bob"\n$/);
    assert.match((await run('team audit', () => [200, { acts: [] }])).out, /^Nothing has been recorded yet/);
  });

  it("passes on that the key is not an owner's", async () => {
    const error = { error: 'this api key is valid for tunnels only', code: 'key-scope' };
    await assert.rejects(
      run('team audit', () => [403, error]),
      RelayRefusal,
    );
  });

  it('rejects responses that could write to the terminal', async () => {
    const evil = [{ id: ANN, label: 'a\u001b[2J', expires_at: AT, url: 'https://relay.example.com/x' }];
    await assert.rejects(
      run('team invite a', () => [201, { invites: evil }]),
      RelayUnreachable,
    );
    const link = [{ id: ANN, label: 'a', expires_at: AT, url: 'javascript:alert(1)' }];
    await assert.rejects(
      run('team invite a', () => [201, { invites: link }]),
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
    it(`rejects "${line}"`, () => assert.rejects(run(line), UsageError));
  }
});
