import assert from 'node:assert/strict';
import { type Access, type AccessView, OPEN } from '../../../../shared/access.ts';
import type { TunnelAccess } from '../../ipc/tunnel-views.ts';
import { CallFailure } from '../failure.ts';
import { accessAgain, accessOf, accessView } from './access.ts';

const LOCKS: TunnelAccess[] = [
  { kind: 'anyone' },
  { kind: 'password', password: 'mild-oak-fern' },
  { kind: 'links' },
  { kind: 'addresses', allow: ['10.0.0.0/8', '2001:db8::7'] },
  { kind: 'knock' },
  { kind: 'signIn', rules: ['*@example.com', 'group:ops'] },
  { kind: 'agents' },
];
/** Without users, which no lock has. */
function asShown({ allow, basic, password, links, knock, sign_in, oauth }: Access): AccessView {
  assert.deepEqual(basic, OPEN.basic);
  return {
    ...(allow.length > 0 ? { allow } : {}),
    ...(password === undefined ? {} : { password: true }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
    ...(sign_in.length > 0 ? { sign_in } : {}),
    ...(oauth ? { oauth } : {}),
  };
}
const noPassword = (): string => assert.fail('no password is needed');

describe('access policies', () => {
  for (const lock of LOCKS)
    it(`requests ${lock.kind} and nothing else, and shows it unchanged`, () => {
      const access = accessOf(lock);
      const shown = asShown(access);
      assert.equal(Object.keys(shown).length, lock.kind === 'anyone' ? 0 : 1);
      assert.deepEqual(accessView(shown, access.password), lock);
    });

  it('reports a password that was set elsewhere, without its value', () => {
    assert.deepEqual(accessView({ password: true }, undefined), { kind: 'password', password: undefined });
  });

  it('shows kinds that the app does not offer itself', () => {
    assert.deepEqual(accessView({ basic: ['ann'] }, undefined), {
      kind: 'other',
      parts: ['users'],
      password: undefined,
    });
    const { kind } = accessView({ sign_in: ['group:ops, night'] }, undefined);
    assert.equal(kind, 'other', 'two rules in the form');
    assert.deepEqual(accessView({ allow: ['::1'], password: true, links: true, knock: true }, 'x'), {
      kind: 'other',
      parts: ['addresses', 'password', 'links', 'knock'],
      password: 'x',
    });
  });

  it('requests the same policy again', () => {
    for (const lock of LOCKS) {
      const access = accessOf(lock);
      assert.deepEqual(
        accessAgain(asShown(access), () => access.password ?? noPassword()),
        access,
      );
    }
  });

  it('never opens a tunnel that it cannot protect again', () => {
    assert.throws(
      () => accessAgain({ basic: ['ann'], links: true }, noPassword),
      (error) => error instanceof CallFailure && error.error.code === 'lock-unknown',
    );
  });
});
