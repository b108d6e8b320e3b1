import assert from 'node:assert/strict';
import {
  aKeyRecord,
  anAccount,
  anInvitation,
  aTunnel,
  PUBLIC,
  theTerms,
  useStore,
} from '../testing/fixtures.ts';
import type { AuditRecord } from './records.ts';

function act(fields: Partial<AuditRecord>): AuditRecord {
  return {
    id: `${fields.action} ${fields.at}`,
    at: 200,
    actor: 'shell:root',
    action: '',
    subject: '',
    detail: '',
    accountId: null,
    ...fields,
  };
}

describe('the store of teams', () => {
  const account = anAccount({ name: 'team', createdAt: 100 });
  const store = useStore(account);

  it('keeps which key a tunnel is from, its label and whether it is an agent, and the scopes of keys', async () => {
    for (const fields of [
      { createdKey: 'k', createdBy: 'ann' },
      { name: 'ai-x', createdKey: 'agent', byAgent: true },
    ]) {
      const tunnel = aTunnel(account.id, fields);
      await store.insertTunnel(tunnel);
      assert.deepEqual((await store.findTunnel(tunnel.id))?.tunnel, tunnel);
    }
    for (const scope of [{ kind: 'agent', prefix: 'ai' }, { kind: 'owner' }] as const) {
      await store.insertKey(aKeyRecord({ accountId: account.id, hash: scope.kind, scope }));
      assert.deepEqual((await store.findKeyOwner(scope.kind))?.scope, scope);
    }
  });

  it("changes for an agent's key only what an agent's key has, whatever happens at the same time", async () => {
    const tunnel = aTunnel(account.id, { createdKey: 'agent', byAgent: true, expiresAt: 100 });
    await store.insertTunnel(tunnel);
    const takeOver = { now: 0, nameHold: 0 };
    const agents = theTerms({ createdKey: 'next', byAgent: true });
    assert.equal((await store.setTerms(tunnel.id, agents, PUBLIC, takeOver))?.termsRevision, 1);
    assert.equal((await store.setAccess(tunnel.id, PUBLIC, 'by-agent'))?.accessRevision, 2);
    const extension = { by: 50, from: 500, latest: 1000, reach: 'by-agent' } as const;
    assert.equal(await store.extendExpiry(tunnel.id, extension), 550);
    const owners = theTerms({ createdKey: 'owner' });
    assert.equal((await store.setTerms(tunnel.id, owners, PUBLIC, takeOver))?.termsRevision, 2);
    assert.equal(await store.setTerms(tunnel.id, agents, PUBLIC, takeOver), undefined);
    assert.equal(await store.setAccess(tunnel.id, PUBLIC, 'by-agent'), undefined);
    assert.equal(await store.extendExpiry(tunnel.id, extension), undefined);
    const { createdKey, expiresAt, accessRevision } = (await store.findTunnel(tunnel.id))?.tunnel ?? {};
    assert.deepEqual([createdKey, expiresAt, accessRevision], ['owner', 500, 3]);
  });

  it('stores invitations with their accounts, all or none', async () => {
    const [one, two] = [anAccount({ subdomain: 'one' }), anAccount({ subdomain: 'one' })];
    const invitations = [one, two].map(({ id }) => anInvitation(id));
    await assert.rejects(store.insertInvitations(invitations, 0, [one, two]), { field: 'subdomain' });
    assert.deepEqual(await store.listInvitations(0), []);
    assert.equal((await store.listAccounts()).length, 1);
    await store.insertInvitations(invitations.slice(0, 1), 0, [one]);
    assert.equal((await store.listInvitations(0, one.id)).length, 1);
    assert.equal((await store.listInvitations(0, account.id)).length, 0);
  });

  it('revokes no invitation of another account', async () => {
    await store.insertInvitations([anInvitation(account.id, { id: 'i' })], 0);
    assert.equal(await store.revokeInvitation('i', 1, 'other'), false);
    assert.equal(await store.revokeInvitation('i', 1, account.id), true);
  });

  it('shows owners what concerns their account, and nothing else', async () => {
    const seen = [
      act({ action: 'account.set-plan', subject: 'team', at: 201 }),
      act({ action: 'team.close', subject: 'web', accountId: account.id, at: 202 }),
      act({ action: 'invite.take', subject: 'team', at: 203 }),
    ];
    const unseen = [
      // An earlier account of that name, tunnels named like it, and others.
      act({ action: 'account.create', subject: 'team', at: 99 }),
      act({ action: 'tunnel.close', subject: 'team', at: 204 }),
      act({ action: 'team.close', subject: 'team', accountId: 'other', at: 205 }),
      act({ action: 'account.suspend', subject: 'other', accountId: account.id, at: 206 }),
    ];
    for (const entry of [...seen, ...unseen]) await store.insertAudit(entry);
    assert.deepEqual(await store.listTeamAudit(account, 10), seen);
    assert.deepEqual(await store.listTeamAudit(account, 2), seen.slice(1));
  });
});
