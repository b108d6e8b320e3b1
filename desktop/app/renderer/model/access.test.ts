import assert from 'node:assert/strict';
import { ALLOW_MAX } from '../../../../shared/access.ts';
import { parseDuration } from '../../../../shared/duration.ts';
import { LINK_DEFAULT_TTL_SECONDS, LINK_MAX_TTL_SECONDS } from '../../../../shared/links.ts';
import type { TunnelAccess, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import {
  agentUse,
  APPROVAL_CHOICES,
  approvalTtl,
  asksFor,
  isSameAccess,
  LINK_DEFAULT_TTL,
  linkChoices,
  linkEnd,
  linkUse,
  linkName,
  type AccessDraft,
  accessDraft,
  accessLine,
  accessWords,
  OPEN_DRAFT,
  readAccessDraft,
  scanWords,
} from './access.ts';

const PASSWORD: TunnelAccess = { kind: 'password', password: 'mild-oak-fern' };
const ADDRESSES: TunnelAccess = { kind: 'addresses', allow: ['203.0.113.0/24', '2001:db8::7'] };
const LOCKS: readonly TunnelAccess[] = [
  { kind: 'anyone' },
  PASSWORD,
  { kind: 'links' },
  ADDRESSES,
  { kind: 'knock' },
  { kind: 'signIn', rules: ['*@example.com', 'group:Web Team'] },
  { kind: 'agents' },
];
const OTHER: TunnelAccessView = { kind: 'other', parts: ['addresses', 'users'], password: undefined };
const UNKNOWN: TunnelAccessView = { kind: 'password', password: undefined };

const problemOf = (draft: Partial<AccessDraft>): string => {
  const read = readAccessDraft({ ...OPEN_DRAFT, ...draft });
  return 'problem' in read ? read.problem : assert.fail('nothing is wrong');
};

const addresses = (count: number): string =>
  Array.from({ length: count }, (_, index) => `10.0.0.${index}`).join(' ');
function line(lock: Exclude<TunnelAccessView, { kind: 'anyone' }>): string {
  const { label, value } = accessLine(lock);
  return `${label} ${value}`.trim();
}

describe('readAccessDraft', () => {
  for (const lock of LOCKS)
    it(`reads ${lock.kind} as it was shown`, () => {
      assert.deepEqual(readAccessDraft(accessDraft(lock)), { lock });
    });

  it('accepts addresses separated by commas, semicolons, spaces or lines, each once', () => {
    assert.deepEqual(
      readAccessDraft({
        ...OPEN_DRAFT,
        kind: 'addresses',
        addresses: ' 203.0.113.0/24,\n2001:db8::7; 203.0.113.0/24 ',
      }),
      { lock: ADDRESSES },
    );
  });

  it('reads the name of a first token, and explains what is wrong with it', () => {
    const draft = { ...OPEN_DRAFT, kind: 'tokens' } as const;
    assert.deepEqual(readAccessDraft(draft), { lock: { kind: 'tokens', name: 'agent' } });
    assert.deepEqual(readAccessDraft({ ...draft, token: ' ci ' }), { lock: { kind: 'tokens', name: 'ci' } });
    for (const token of ['', 'CI', 'a b', 'x'.repeat(33)])
      assert.match(problemOf({ kind: 'tokens', token }), /^Enter a name of 1 to 32 lowercase letters/);
    assert.equal(isSameAccess(accessDraft({ kind: 'tokens' }), { kind: 'tokens' }), true);
    assert.equal(isSameAccess(draft, { kind: 'links' }), false);
  });

  const wrong: [given: string, RegExp][] = [
    ['', /^Enter an address such as/],
    [' ,\n', /^Enter an address such as/],
    ['10.0.0.1, office.example.com', /^“office\.example\.com” is a name\. Enter its IP address/],
    ['10.0.0.0/33', /^“10\.0\.0\.0\/33”: the part after the slash must be a number up to 32\.$/],
    ['2001:db8::/x', /the part after the slash must be a number up to 128\.$/],
    ['10.0.0', /^“10\.0\.0” is not an IP address or range/],
    ['10.0.0.256', /is not an IP address or range/],
    ['<b>', /is not an IP address or range/],
  ];
  for (const [given, text] of wrong)
    it(`explains what is wrong with ${JSON.stringify(given)}`, () => {
      assert.match(problemOf({ kind: 'addresses', addresses: given }), text);
    });

  const wrongRules: [given: string, RegExp][] = [
    [' ,\n', /^Enter who may sign in, such as/],
    ['ann@example.com, example.com', /^“example\.com” is not valid\. Enter ann@example\.com, /],
    [Array.from({ length: 33 }, (_, index) => `${index}@example.com`).join(), /at most 32/],
  ];
  for (const [given, text] of wrongRules)
    it(`explains what is wrong with the sign-in of ${JSON.stringify(given.slice(0, 40))}`, () => {
      assert.match(problemOf({ kind: 'signIn', signIn: given }), text);
    });

  it('accepts as many addresses as a relay, and no more', () => {
    assert.ok(
      'lock' in readAccessDraft({ ...OPEN_DRAFT, kind: 'addresses', addresses: addresses(ALLOW_MAX) }),
    );
    assert.match(problemOf({ kind: 'addresses', addresses: addresses(ALLOW_MAX + 1) }), /at most 64/);
  });

  it('explains the required length of a password', () => {
    for (const password of ['', 'abc', 'x'.repeat(129)])
      assert.match(problemOf({ kind: 'password', password }), /^Enter a password of 4 to 128 characters\.$/);
  });
});

describe('agentUse', () => {
  it('tells since when an agent has access, and when it used it', () => {
    const agent = { id: 'a', name: '', host: 'a.example', returnsTo: 'a.example', user: null };
    assert.equal(agentUse({ ...agent, since: 0, usedAt: undefined }, 1000), 'Approved just now, never used');
    assert.equal(
      agentUse({ ...agent, since: 0, usedAt: 3_500_000 }, 3_600_000),
      'Approved 1 h ago, used 1 min ago',
    );
  });
});

describe('isSameAccess', () => {
  it('is true for the draft of an access policy, and for no other', () => {
    for (const lock of LOCKS)
      for (const other of LOCKS)
        assert.equal(isSameAccess(accessDraft(lock), other), lock === other, `${lock.kind} ${other.kind}`);
    assert.equal(isSameAccess({ ...accessDraft(PASSWORD), password: 'other-words' }, PASSWORD), false);
    assert.equal(isSameAccess({ ...accessDraft(ADDRESSES), addresses: '::1' }, ADDRESSES), false);
  });

  it('is never true for a policy that cannot be chosen here or is unknown', () => {
    assert.equal(isSameAccess(accessDraft(OTHER), OTHER), false);
    assert.equal(isSameAccess(accessDraft(UNKNOWN), UNKNOWN), false);
    assert.equal(isSameAccess({ ...accessDraft(UNKNOWN), password: 'mild-oak-fern' }, UNKNOWN), false);
  });
});

describe('words of an access policy', () => {
  it('tell on a card what visitors need', () => {
    assert.equal(line(PASSWORD), 'Password mild-oak-fern');
    assert.equal(line(UNKNOWN), 'Password set outside this app');
    assert.equal(line({ kind: 'links' }), 'Only with a link');
    assert.equal(line({ kind: 'knock' }), 'You approve each visitor');
    assert.equal(line({ kind: 'tokens' }), 'Only programs with a token');
    assert.equal(line({ kind: 'signIn', rules: ['a@b.example', '*'] }), 'Sign-in: a@b.example and *');
    assert.equal(line({ kind: 'agents' }), 'Only agents that you approve');
    assert.deepEqual([asksFor(OTHER, 'links'), asksFor({ kind: 'links' }, 'links')], [false, true]);
    assert.deepEqual(
      [asksFor({ ...OTHER, parts: ['users', 'knock'] }, 'knock'), asksFor(UNKNOWN, 'knock')],
      [true, false],
    );
    assert.equal(line(OTHER), 'Addresses · Users, set by a project or another program');
    assert.equal(line({ kind: 'addresses', allow: ['::1'] }), 'Only from ::1');
    assert.equal(line(ADDRESSES), 'Only from 203.0.113.0/24 and 2001:db8::7');
    assert.equal(line({ kind: 'addresses', allow: ['::1', '::2', '::3'] }), 'Only from ::1 and 2 more');
  });

  it('name each policy like its choice', () => {
    assert.deepEqual(LOCKS.map(accessWords), [
      'Anyone',
      'Password',
      'Only with a link',
      'These addresses',
      'Ask me',
      'Sign-in',
      'Agents (MCP)',
    ]);
  });

  it('tell at a code what the address alone does not allow', () => {
    assert.equal(scanWords({ kind: 'anyone' }), undefined);
    assert.match(scanWords(PASSWORD) ?? '', /mild-oak-fern$/);
    for (const lock of [...LOCKS.slice(1), OTHER, UNKNOWN]) assert.notEqual(scanWords(lock), undefined);
  });
});

const LINK = { id: 'l', note: '', expiresAt: 3_600_000 };

describe('links', () => {
  it("are valid for at most the relay's maximum, and by default its default", () => {
    const choices = linkChoices().map(([ttl]) => parseDuration(ttl) ?? assert.fail(ttl));
    assert.ok(choices.every((seconds) => seconds > 0 && seconds <= LINK_MAX_TTL_SECONDS));
    assert.equal(parseDuration(LINK_DEFAULT_TTL), LINK_DEFAULT_TTL_SECONDS);
    assert.ok(linkChoices().some(([ttl]) => ttl === LINK_DEFAULT_TTL));
  });

  it('are listed by their note, with the time left', () => {
    assert.equal(linkName({ ...LINK, note: 'for Ann' }), 'for Ann');
    assert.equal(linkName(LINK), 'No note');
    assert.equal(linkEnd(LINK, 60_000), '59 min left');
    assert.equal(linkEnd(LINK, LINK.expiresAt), 'expired');
    assert.equal(linkUse(undefined, 0), 'not opened yet');
    assert.equal(linkUse(0, 59_999), 'opened just now');
    assert.equal(linkUse(0, 5 * 60_000), 'opened 5 min ago');
  });
});

const at = (hours: number, minutes: number, seconds = 0): number =>
  new Date(2026, 10, 21, hours, minutes, seconds).getTime();

describe('approvalTtl', () => {
  it('is a duration that a relay accepts at any time of the day', () => {
    for (const id of APPROVAL_CHOICES)
      for (const now of [at(0, 0), at(12, 0), at(23, 59, 59)])
        assert.ok((parseDuration(approvalTtl(id, now)) ?? 0) > 0, id);
  });

  it('ends at midnight for today', () => {
    assert.equal(approvalTtl('today', at(22, 30)), '90m');
    assert.equal(approvalTtl('today', at(23, 59, 59)), '1m');
    assert.equal(approvalTtl('today', at(0, 0)), '1440m');
  });

  it('supports an hour and a week', () => {
    assert.deepEqual([approvalTtl('hour', 0), approvalTtl('week', 0)], ['1h', '168h']);
  });
});
