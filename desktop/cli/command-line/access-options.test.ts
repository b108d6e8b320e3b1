import assert from 'node:assert/strict';
import { OPEN } from '../../../shared/access.ts';
import type { Prompt } from '../../client/config/relay-access.ts';
import { UsageError } from '../../client/failures.ts';
import { completeAccess, describeAccess, exposureWarning, readAccessOptions } from './access-options.ts';

/** Somebody who types these passwords. */
function typing(...passwords: string[]): Prompt & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    isInteractive: true,
    asked,
    ask: () => assert.fail('what is typed would be shown'),
    askSecret(question) {
      asked.push(question);
      return Promise.resolve(passwords.shift() ?? assert.fail('asked once too often'));
    },
  };
}

const PIPE: Prompt = { ...typing(), isInteractive: false };

describe('completeAccess', () => {
  it('asks for missing passwords one after the other', async () => {
    const prompt = typing('first', ' with spaces ');
    const options = readAccessOptions({ auth: ['ann', 'bob:x', 'cid'], links: true });
    assert.deepEqual(await completeAccess(options, prompt), {
      ...OPEN,
      basic: [
        { user: 'ann', password: 'first' },
        { user: 'bob', password: 'x' },
        { user: 'cid', password: ' with spaces ' },
      ],
      links: true,
    });
    assert.deepEqual(prompt.asked, ['Password for ann: ', 'Password for cid: ']);
  });

  it('needs a terminal only for that', async () => {
    const complete = await completeAccess(readAccessOptions({ auth: ['ann:x'] }), PIPE);
    assert.equal(complete.basic[0]?.password, 'x');
    await assert.rejects(
      completeAccess(readAccessOptions({ auth: ['ann'] }), PIPE),
      (error) =>
        error instanceof UsageError &&
        /--auth ann: the command cannot ask for the password without a terminal/.test(error.message),
    );
  });

  it('rejects an empty password', async () => {
    await assert.rejects(completeAccess(readAccessOptions({ auth: ['ann'] }), typing('')), UsageError);
  });
});

const warning = (values: Parameters<typeof readAccessOptions>[0]) =>
  exposureWarning(readAccessOptions(values));

describe('exposureWarning', () => {
  it('is one line, and repeats no secret', () => {
    const text = warning({ auth: ['ann:hidden'], password: 'hidden' }) ?? '';
    assert.match(text, /^culvert: The password of --auth and --password is in your shell's history.*\n$/);
    assert.doesNotMatch(text, /hidden/);
    assert.match(warning({ password: 'hidden' }) ?? '', /--password without a word/);
  });

  it('is not shown for values that other users cannot see', () => {
    assert.equal(
      warning({ auth: ['ann'], password: true, allow: ['::1'], links: true, knock: true }),
      undefined,
    );
  });
});

describe('describeAccess', () => {
  it('describes the policy, and returns nothing for an open tunnel', () => {
    assert.equal(describeAccess({}), undefined);
    assert.equal(describeAccess({ allow: [], basic: [] }), undefined);
    assert.equal(
      describeAccess({ allow: ['::1'], basic: ['ann', 'bob'], password: true, links: true, knock: true }),
      'login (ann, bob) or password or signed link or your approval, only from ::1',
    );
    assert.equal(describeAccess({ allow: ['::1', '10.0.0.0/8'] }), 'only from ::1, 10.0.0.0/8');
    const tokens = [{ name: 'ci' }, { name: 'agent' }];
    assert.equal(describeAccess({ links: true, tokens }), 'signed link or token (ci, agent)');
    assert.equal(describeAccess({ basic: ['a', 'b', 'c', 'd', 'e'] }), 'login (a, b, c and 2 more)');
    const signIn = { sign_in: ['*@example.com', 'group:ops'], oauth: true } as const;
    assert.equal(describeAccess(signIn), 'sign-in (*@example.com, group:ops) or approved agents');
  });
});
