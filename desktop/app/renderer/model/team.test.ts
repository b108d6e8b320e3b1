import assert from 'node:assert/strict';
import type { TeamActView } from '../../ipc/ipc.ts';
import { actText, invitationChoices, memberAccess, memberName } from './team.ts';

const MEMBERS = [
  { id: 'o', label: 'olga' },
  { id: 'b', label: 'bob' },
  { id: 'n', label: '' },
];

function act(changes: Partial<TeamActView>): TeamActView {
  return { at: 0, actor: 'key:o', action: 'team.close', subject: 'web', detail: '', ...changes };
}

describe('a person of the team', () => {
  it('has a name and an access in words', () => {
    const keys = [{ label: 'ann', hint: 'cvt_BlK1' }, { label: '', hint: 'cvt_BlK1' }, { label: '' }];
    assert.deepEqual(keys.map(memberName), ['ann', 'Key cvt_BlK1…', 'No name']);
    assert.deepEqual(
      ['owner', 'all', 'shop-hooks'].map((scope) => memberAccess({ scope })),
      ['Owner', 'Member', 'Only the tunnel shop-hooks'],
    );
  });

  it('can be invited for one, three or seven days', () => {
    assert.deepEqual(
      invitationChoices().map(([, label]) => label),
      ['1 day', '3 days', '7 days'],
    );
  });
});

describe('an entry of the audit log', () => {
  const sentences: readonly [changes: Partial<TeamActView>, sentence: string][] = [
    [{ detail: 'of "ann", by "olga"' }, 'olga closed web, a tunnel of ann.'],
    [{ action: 'team.extend', detail: 'of "ann", by "olga"' }, 'olga extended web, a tunnel of ann.'],
    [
      { action: 'team.access', detail: 'of "", by "olga"' },
      'olga changed who can visit web, a tunnel of an unnamed key.',
    ],
    [
      { action: 'team.take-over', actor: 'key:n', detail: 'of "ann", by ""' },
      'An unnamed key took over web, a tunnel of ann.',
    ],
    [{ action: 'team.invite', detail: 'invite:1 for "ann", by "olga"' }, 'olga invited ann.'],
    [
      { action: 'team.revoke', detail: 'the key cvt_BlK1… of "ann", by "olga"' },
      'olga revoked the key of ann.',
    ],
    [
      { action: 'team.revoke', detail: 'the invitation of "ann", by "olga"' },
      'olga revoked the invitation of ann.',
    ],
    [
      { action: 'invite.take', actor: 'invite:1', detail: 'key cvt_BlK1…, "ann"' },
      'ann accepted an invitation.',
    ],
    [{ action: 'account.create' }, 'The operator created the account.'],
    [{ action: 'account.set-plan', detail: 'team' }, 'The operator changed the plan to Team.'],
    [{ action: 'account.set-subdomain', detail: 'shop' }, 'The operator changed the subdomain to shop.'],
    [{ action: 'account.set-subdomain', detail: 'none' }, 'The operator removed the subdomain.'],
    [{ action: 'account.suspend', detail: 'unpaid' }, 'The operator suspended the account: unpaid'],
    [{ action: 'account.resume' }, 'The operator reactivated the account.'],
    [{ action: 'invite.create', detail: 'invite:1' }, 'The operator created an invitation.'],
  ];
  for (const [changes, sentence] of sentences) {
    it(`reads "${sentence}"`, () => assert.equal(actText(act(changes), MEMBERS), sentence));
  }

  it('names the person of a revoked key as the entry does', () => {
    const gone = act({ actor: 'key:gone', detail: 'of "ann", by "carl"' });
    assert.equal(actText(gone, MEMBERS), 'carl closed web, a tunnel of ann.');
  });

  it('of an unknown kind is shown as it is', () => {
    const entry = act({ action: 'team.rename', subject: 'ann', detail: 'to "anna", by "olga"' });
    assert.equal(actText(entry, MEMBERS), 'team.rename ann to "anna", by "olga"');
    assert.equal(actText(act({ action: 'invite.take', detail: '?' }), MEMBERS), 'invite.take web ?');
  });

  it('does not blame another person if a label has the words of an entry', () => {
    const label = 'x", by "olga';
    const entry = act({ actor: 'key:evil', detail: `of "ann", by "${label}"` });
    assert.equal(
      actText(entry, [{ id: 'evil', label }]),
      'x", by "olga closed web, a tunnel of ann.',
      'a valid key has its own label',
    );
    assert.match(actText(entry, MEMBERS), /^team\.close web of "ann", by "x", by "olga"$/);
    const owned = act({ actor: 'key:b', detail: `of "${label}", by "bob"` });
    assert.equal(actText(owned, MEMBERS), 'bob closed web, a tunnel of x", by "olga.');
  });
});
