import assert from 'node:assert/strict';
import { type Claims, personOf, signedInOf, SignInRules, visitorBySignIn } from './people.ts';
import { shownVisitor } from './access-check.ts';

const ANN = { sub: 'u1', email: 'ann@example.com', email_verified: true };

/** Whether the rules admit a person, through the identity that a pass carries. */
function admits(rules: readonly string[], claims: Claims, groupsClaim = 'groups'): boolean {
  const person = personOf(claims, groupsClaim) ?? assert.fail('nobody');
  const set = new SignInRules(rules);
  const back = signedInOf(visitorBySignIn(set.describe(person))) ?? assert.fail('no identity');
  return set.admits(back);
}

describe('rules about people who sign in', () => {
  for (const [rule, claims, expected] of [
    ['ann@example.com', ANN, true],
    ['ANN@Example.com', ANN, true],
    ['ann@example.com', { ...ANN, email: 'Ann@EXAMPLE.com' }, true],
    ['bob@example.com', ANN, false],
    ['*@example.com', ANN, true],
    ['*@EXAMPLE.com', ANN, true],
    ['*@example.com', { ...ANN, email: 'ann@sub.example.com' }, false],
    ['*@example.com', { ...ANN, email: 'ann@evilexample.com' }, false],
    ['*@example.com', { ...ANN, email: 'ann@example.com.evil.com' }, false],
    ['*@example.com', { ...ANN, email: 'evil@evil.com@example.com' }, false],
    // U+212A, the Kelvin sign, is "k" in lower case.
    ['*@kiosk.example', { ...ANN, email: 'ann@\u212Aiosk.example' }, false],
    ['*@example.com', { ...ANN, email: 'ann@example.com\r\nx' }, false],
    ['*@example.com', { ...ANN, email: 'a nn@example.com' }, false],
    ['*@example.com', { ...ANN, email: `${'a'.repeat(243)}@example.com` }, false],
    ['*@example.com', { ...ANN, email: `${'a'.repeat(242)}@example.com` }, true],
    ['*@example.com', { ...ANN, email: ['ann@example.com'] }, false],
    ['*@example.com', { ...ANN, email_verified: false }, false],
    ['*@example.com', { ...ANN, email_verified: 'false' }, false],
    ['*@example.com', { ...ANN, email_verified: 'true' }, true],
    ['*@example.com', { sub: 'u1', email: 'ann@example.com' }, true],
    ['u1@example.com', { sub: 'u1@example.com' }, false],
    ['*', { sub: 'u1' }, true],
    ['*', { ...ANN, email_verified: false }, true],
    ['group:ops', { sub: 'u1', groups: ['dev', 'ops'] }, true],
    ['group:ops', { sub: 'u1', groups: 'ops' }, true],
    ['group:ops', { sub: 'u1', groups: 'ops dev' }, false],
    ['group:ops', { sub: 'u1', groups: ['Ops'] }, false],
    ['group:ops', { sub: 'u1', groups: [['ops'], { ops: true }, 7, null] }, false],
    ['group:ops', { sub: 'u1', groups: { ops: true } }, false],
    ['group:ops', { sub: 'u1', roles: ['ops'] }, false],
    ['group:\u{1F600} a', { sub: 'u1', groups: ['\u{1F600} a'] }, true],
    ['group:\uFFFD', { sub: 'u1', groups: ['\uD800'] }, false],
  ] as const)
    it(`${expected ? 'admit' : 'refuse'} ${JSON.stringify(claims)} by ${rule}`, () => {
      assert.equal(admits([rule], claims), expected);
    });

  it('admit by any of several, and by the claim that the operator has named', () => {
    assert.ok(admits(['bob@example.com', 'group:ops'], { ...ANN, roles: ['ops'] }, 'roles'));
    assert.ok(!admits([], ANN));
  });

  it('ask for those groups of a pass that they name by now', () => {
    const claims = { sub: 'u1', groups: ['ops', 'dev', 'secret'] };
    const person = personOf(claims, 'groups') ?? assert.fail('nobody');
    const before = new SignInRules(['group:ops', 'group:dev']);
    const described = before.describe(person);
    assert.equal(described.groups.length, 2);
    assert.ok(!JSON.stringify(described).includes('ops'));
    assert.ok(new SignInRules(['group:dev']).admits(described));
    assert.ok(!new SignInRules(['group:secret']).admits(described));
  });
});

describe('the identity of a person', () => {
  it('fits a pass with 32 groups and the longest names', () => {
    const names = Array.from({ length: 32 }, (_, index) => `${index}${'\u{1F600}'.repeat(126)}`);
    const rules = new SignInRules(names.map((name) => `group:${name}`));
    const person = personOf({ sub: '\u4E2D'.repeat(255), groups: names }, 'groups') ?? assert.fail('nobody');
    const visitor = visitorBySignIn(rules.describe(person));
    assert.ok(Buffer.byteLength(visitor) <= 1600, String(Buffer.byteLength(visitor)));
    assert.equal(signedInOf(visitor)?.groups.length, 32);
  });

  it('is shown as the address, or as the id of a person without one', () => {
    assert.equal(shown({ ...ANN, email: 'ANN@example.com', groups: ['a'] }), 'user:ann@example.com');
    assert.equal(shown({ sub: 'a:e:x\nb', groups: ['a'] }), 'user:a:e:x\nb');
    assert.equal(shown({ ...ANN, email_verified: false }), 'user:u1');
  });

  it('is nobody else, whatever an id looks like', () => {
    const rules = new SignInRules(['ann@example.com', 'group:a']);
    assert.ok(!admits(['ann@example.com'], { sub: 'ann@example.com' }));
    const [digest = ''] = rules.describe({ subject: 'x', email: undefined, groups: ['a'] }).groups;
    const forged = { subject: `:e:ann@example.com`, email: undefined, groups: [] };
    for (const subject of [forged.subject, `${digest}:e:ann@example.com`, `user:${digest}:e:x`])
      assert.ok(
        !rules.admits(signedInOf(visitorBySignIn(rules.describe({ ...forged, subject }))) ?? assert.fail()),
      );
  });

  it('needs an id that the provider may give', () => {
    for (const sub of [undefined, '', 7, 'x'.repeat(256)])
      assert.equal(personOf({ sub }, 'groups'), undefined);
    assert.equal(personOf({ sub: '\uD800' }, 'groups')?.subject, '\uFFFD');
  });

  it('is none of a visitor who came another way', () => {
    for (const visitor of [
      'basic:ann',
      'link:0123456789abcdef:user::e:a@b',
      'password',
      'user:ann@example.com',
    ])
      assert.equal(signedInOf(visitor), undefined);
  });
});

function shown(claims: Claims): string {
  const person = personOf(claims, 'groups') ?? assert.fail('nobody');
  return shownVisitor(visitorBySignIn(new SignInRules(['group:a']).describe(person)));
}
