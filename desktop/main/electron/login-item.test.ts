import assert from 'node:assert/strict';
import type { App, Settings } from 'electron';
import { loginItem } from './login-item.ts';

describe('loginItem', () => {
  it('starts hidden', async () => {
    const seen: (Settings | undefined)[] = [];
    const app = {
      setLoginItemSettings: (settings) => void seen.push(settings),
    } satisfies Pick<App, 'setLoginItemSettings'>;
    await loginItem(app).set(true);
    assert.deepEqual(seen, [{ openAtLogin: true, args: ['--hidden'] }]);
  });
});
