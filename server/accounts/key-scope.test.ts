import assert from 'node:assert/strict';
import type { KeyScope } from '../store/records.ts';
import { mustReach, outOfScope, reachesTunnel, shownScope } from './key-scope.ts';

describe('the scope of a key', () => {
  const rows: [scope: KeyScope, shown: string, web: boolean, unnamed: boolean][] = [
    [{ kind: 'all' }, 'all', true, true],
    [{ kind: 'admin' }, 'admin', false, false],
    [{ kind: 'tunnel', name: 'web' }, 'web', true, false],
    [{ kind: 'tunnel', name: 'other' }, 'other', false, false],
  ];

  it('is all, or one tunnel, or none', () => {
    for (const [scope, shown, web, unnamed] of rows) {
      assert.deepEqual(
        [shownScope(scope), reachesTunnel(scope, 'web'), reachesTunnel(scope, '')],
        [shown, web, unnamed],
      );
    }
  });

  it('makes other tunnels look as if they were not there, and says what the key is good for', () => {
    assert.throws(() => mustReach({ kind: 'tunnel', name: 'web' }, 'shop'), { status: 404 });
    assert.match(outOfScope({ kind: 'tunnel', name: 'web' }).message, /good for the tunnel "web" only/);
    assert.match(outOfScope({ kind: 'admin' }).message, /good for administration only/);
  });
});
