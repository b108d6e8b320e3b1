import assert from 'node:assert/strict';
import { OPEN } from '../../shared/access.ts';
import { hashKey } from '../accounts/api-keys.ts';
import { anAccess } from '../testing/fixtures.ts';
import { AccessPolicy, isGuarded, prepareAccess, RevokedLinks, withMadeTokens } from './access-policy.ts';

const TOKEN = 'x'.repeat(256);
const HASHES = { hash: (password: string) => Promise.resolve(`hash of ${password}`) };

describe('a policy that keeps strangers out', () => {
  it('requires something of each visitor', () => {
    const policies = [
      { password: 'mild-oak-fern' },
      { basic: [{ user: 'ann', password: 'x' }] },
      { tokens: [{ name: 'ci', token: undefined }] },
      { links: true },
      { knock: true },
    ];
    for (const policy of policies) assert.ok(isGuarded({ ...OPEN, ...policy }), JSON.stringify(policy));
    assert.ok(isGuarded({ ...OPEN, links: true, allow: ['0.0.0.0/0'] }));
    assert.ok(!isGuarded(OPEN));
  });

  it('or allows only private networks, addresses and small ranges', () => {
    const small = '10.0.0.0/8 172.16.0.0/12 192.168.1.0/24 100.64.0.0/10 127.0.0.1 203.0.0.0/16';
    const small6 = 'fd00::/8 fc00::/7 fe80::/10 ::1 2001:db8::/32 2001:db8::1 ::ffff:192.0.2.1';
    for (const text of `${small} ${small6}`.split(' '))
      assert.ok(isGuarded({ ...OPEN, allow: [text] }), text);
    const large = '0.0.0.0/0 0.0.0.0/1 203.0.0.0/15 10.0.0.0/7 172.16.0.0/11 172.0.0.0/8';
    const large6 = '::/0 2000::/3 2001:db8::/31 fc00::/6 ::ffff:0:0/96 ::ffff:1.2.3.0/120 ::/64';
    for (const text of `${large} ${large6}`.split(' ')) {
      assert.ok(!isGuarded({ ...OPEN, allow: [text] }), text);
      assert.ok(!isGuarded({ ...OPEN, allow: ['192.0.2.7', text] }), text);
    }
  });
});

describe('prepareAccess', () => {
  it('returns no policy if nothing is asked of visitors', async () => {
    assert.equal((await prepareAccess(OPEN, HASHES, 'acme')).access, null);
  });

  it('hashes given tokens, and makes those that are missing', async () => {
    const tokens = [
      { name: 'ci', token: TOKEN },
      { name: 'agent', token: undefined },
    ];
    const { access, kept, made } = await prepareAccess({ ...OPEN, tokens }, HASHES, 'acme');
    const agent = made.get('agent') ?? '';
    assert.match(agent, /^cvp_[0-9A-Za-z]{32}$/);
    assert.deepEqual([kept, made.size], [['agent'], 1]);
    assert.deepEqual(access?.tokens, [
      { name: 'ci', hash: hashKey(TOKEN) },
      { name: 'agent', hash: hashKey(agent) },
    ]);
  });
});

describe('withMadeTokens', () => {
  it('shows the tokens that were made, unless the tunnel has kept its own', () => {
    const made = new Map([
      ['ci', 'made'],
      ['agent', 'made too'],
    ]);
    const stored = anAccess({
      tokens: [
        { name: 'ci', hash: hashKey('kept') },
        { name: 'agent', hash: hashKey('made too') },
      ],
    });
    const view = new AccessPolicy(stored).view(new Map());
    assert.deepEqual(withMadeTokens(view, stored, made), {
      tokens: [{ name: 'ci' }, { name: 'agent', token: 'made too' }],
    });
  });
});

describe('AccessPolicy', () => {
  const ci = { name: 'ci', hash: hashKey(TOKEN) };
  const policy = new AccessPolicy(anAccess({ tokens: [ci, { name: 'agent', hash: hashKey('other') }] }));

  it('finds a token by its whole text', () => {
    assert.equal(policy.findToken(TOKEN), ci);
    for (const text of [TOKEN.slice(1), `${TOKEN}x`, '', ci.hash])
      assert.equal(policy.findToken(text), undefined);
  });

  it('shows the names of tokens, and when they were last used', () => {
    const uses = new Map([[ci.hash, 0]]);
    assert.deepEqual(policy.view(uses), {
      tokens: [{ name: 'ci', last_used_at: '1970-01-01T00:00:00.000Z' }, { name: 'agent' }],
    });
  });

  it('is for programs if people have no way to get access', () => {
    const basic = [{ user: 'ann', hash: '' }];
    for (const [fields, isForPrograms] of [
      [{ tokens: [ci] }, true],
      [{ basic }, true],
      [{ tokens: [ci], basic, allow: ['::1'] }, true],
      [{ allow: ['::1'] }, false],
      [{ tokens: [ci], links: true }, false],
      [{ tokens: [ci], knock: true }, false],
      [{ basic, password: 'hash' }, false],
    ] as const)
      assert.equal(new AccessPolicy(anAccess(fields)).isForPrograms, isForPrograms, JSON.stringify(fields));
  });
});

describe('RevokedLinks', () => {
  it('contain those they are created with and those that are added, also beside older data, until they end', () => {
    const links = new RevokedLinks([['a', 100]]);
    const known = () => ['a', 'b', 'c'].map((id) => links.has(id));
    for (const nothingNew of [[], [['a', 100] as const]]) assert.equal(links.add(nothingNew, 0), false);
    assert.equal(links.add([['b', 200]], 0), true);
    assert.deepEqual(known(), [true, true, false]);
    assert.equal(links.add([['c', 100]], 100), false, 'it has ended');
    links.add([['c', 200]], 100);
    assert.deepEqual(known(), [false, true, true]);
  });
});
