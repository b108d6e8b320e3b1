import assert from 'node:assert/strict';
import { API_ERRORS } from '../../../shared/errors.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { failsWith, start } from '../../testing/core-app.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { DOMAIN, FakeApi } from '../../testing/fake-platform.ts';
import { Domains, inviteToTeam, revokeFromTeam, showTeam, TEAM_ACTS_MAX, TEAM_ROWS_MAX } from './account.ts';
import type { Connection } from './connection.ts';
import { CallFailure } from './failure.ts';
import { UndoList, UNDO_MS } from './undo-list.ts';

describe('Domains', () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const undos = new UndoList(clock, (error) => assert.fail(String(error)));
  const connection = { relay: parseRelayAddress('https://relay.example'), key: 'cvt_x', api };
  const { id, domain, status, records } = DOMAIN;
  const shown = { id, domain, status, records };

  it('are listed and added at the relay', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    assert.deepEqual(await domains.list(), [shown]);
    assert.deepEqual(await domains.add('b.example.com'), { ...shown, domain: 'b.example.com' });
  });

  it('are checked, and only what is still missing is shown', async () => {
    assert.deepEqual(await new Domains(() => connection, undos).check(id), {
      ...shown,
      problems: [{ text: 'It says something else.', found: ['x'] }],
    });
  });

  it('are removed 8 s later with their tunnels, and can be restored until then', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    await domains.remove(id);
    await domains.remove(id);
    assert.deepEqual([await domains.list(), undos.views.length, api.domains.length], [[], 1, 1]);
    assert.match(
      undos.views[0]?.text ?? '',
      /^app\.example\.com will be removed in 8 s\. Any tunnel that uses it will be closed\.$/,
    );
    await undos.undo(undos.views[0]?.id ?? '');
    assert.deepEqual(await domains.list(), [shown]);
    await domains.remove(id);
    clock.advance(UNDO_MS);
    assert.deepEqual([await domains.list(), api.domains], [[], []]);
    await assert.rejects(domains.remove(id), failsWith('domain-gone'));
  });

  it('that are added again are not removed', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    await domains.remove(id);
    await domains.add(domain);
    clock.advance(UNDO_MS);
    assert.deepEqual([await domains.list(), undos.views], [[shown], []]);
  });

  it('are empty while signed out', async () => {
    await assert.rejects(new Domains(() => undefined, undos).list(), CallFailure);
  });
});

const CREATED = '2026-11-24T10:00:00Z';
const USED = '2026-11-24T11:00:00Z';

function listed(id: string, changes: object = {}) {
  return {
    id,
    label: id,
    hint: `cvt_${id}`,
    scope: 'all',
    created_at: CREATED,
    last_used_at: null,
    expires_at: null,
    ...changes,
  };
}

describe('the team of the account', () => {
  let api: FakeApi;
  let connection: Connection;

  beforeEach(() => {
    api = new FakeApi();
    connection = { relay: parseRelayAddress('https://relay.example'), key: 'cvt_olga7Zk', api };
  });

  it('is listed for an owner, with the own key and the latest actions first', async () => {
    api.team = {
      keys: [listed('olga', { scope: 'owner', last_used_at: USED }), listed('ann', { expires_at: USED })],
      invites: [{ id: 'i', label: 'bob', expires_at: USED }],
    };
    const entry = { actor: 'operator', action: 'account.create', subject: 'shop', detail: '' };
    api.acts = [
      { ...entry, at: CREATED },
      { ...entry, at: USED },
    ];
    const [created, used] = [Date.parse(CREATED), Date.parse(USED)];
    const member = { createdAt: created, usedAt: undefined, expiresAt: undefined, isOwn: false };
    assert.deepEqual(await showTeam(connection), {
      members: [
        { ...member, id: 'olga', label: 'olga', hint: 'cvt_olga', scope: 'owner', usedAt: used, isOwn: true },
        { ...member, id: 'ann', label: 'ann', hint: 'cvt_ann', scope: 'all', expiresAt: used },
      ],
      invitations: [{ id: 'i', label: 'bob', expiresAt: used }],
      acts: [
        { ...entry, at: used },
        { ...entry, at: created },
      ],
      hasMore: false,
    });
  });

  it('is not shown for other keys and for a relay without teams', async () => {
    assert.equal(await showTeam(connection), undefined);
    assert.deepEqual(api.calls, ['team']);
    const { status, text, code } = API_ERRORS.notFound;
    api.failure = new RelayRefusal(status, text, { code });
    assert.equal(await showTeam(connection), undefined);
  });

  it('cannot be shown if the relay fails', async () => {
    const { status, text, code } = API_ERRORS.unavailable;
    api.failure = new RelayRefusal(status, text, { code });
    await assert.rejects(showTeam(connection), api.failure);
    const app = await start();
    await assert.rejects(app.call('team:show', undefined), failsWith('signed-out'));
  });

  it('is limited, and reports that', async () => {
    const keys = Array.from({ length: TEAM_ROWS_MAX + 1 }, (_, index) => listed(String(index)));
    api.team = { keys, invites: [] };
    api.acts = keys.map(({ id }) => ({
      at: CREATED,
      actor: 'operator',
      action: 'x',
      subject: id,
      detail: '',
    }));
    const shown = await showTeam(connection);
    assert.deepEqual(
      [shown?.members.length, shown?.acts.length, shown?.acts[0]?.subject, shown?.hasMore],
      [TEAM_ROWS_MAX, TEAM_ACTS_MAX, String(TEAM_ROWS_MAX), true],
    );
  });

  it('gets an invitation with an address, and loses it again', async () => {
    api.team = { keys: [], invites: [] };
    const made = await inviteToTeam(connection, { label: 'bob', ttl: '72h' });
    assert.deepEqual([made.label, made.url], ['bob', 'https://relay.example/invite/bob']);
    assert.equal((await showTeam(connection))?.invitations[0]?.id, made.id);
    await revokeFromTeam(connection, made.id);
    assert.deepEqual((await showTeam(connection))?.invitations, []);
    // Another owner, or the invited person, was first.
    await revokeFromTeam(connection, made.id);
  });

  it('cannot be changed with a key that is no longer an owner’s', async () => {
    await assert.rejects(inviteToTeam(connection, { label: 'bob', ttl: '24h' }), RelayRefusal);
    await assert.rejects(revokeFromTeam(connection, 'x'), RelayRefusal);
  });
});
