import assert from 'node:assert/strict';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';

describe('culvert-relay doctor', () => {
  it('limits silence to 30 minutes', async () => {
    const shell = new FakeShell();
    assert.equal(await main(shell, ['doctor', '--idle', '1801s'], () => assert.fail()), 2);
    assert.match(shell.stderr.at(-2) ?? '', /--idle must be a duration from 1s to 30m/);
  });
});
