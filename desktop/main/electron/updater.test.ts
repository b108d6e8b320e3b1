import assert from 'node:assert/strict';
import { canReplaceItself } from './updater.ts';

describe('an app that is updated', () => {
  const packaged = { isPackaged: true, env: {} };

  it('is an installed one of macOS or Windows, or an AppImage', () => {
    assert.equal(canReplaceItself({ ...packaged, platform: 'darwin' }), true);
    assert.equal(canReplaceItself({ ...packaged, platform: 'win32' }), true);
    assert.equal(canReplaceItself({ ...packaged, platform: 'linux', env: { APPIMAGE: '/a' } }), true);
  });

  it('is none that a package manager has installed, and none in development', () => {
    assert.equal(canReplaceItself({ ...packaged, platform: 'linux' }), false);
    assert.equal(canReplaceItself({ isPackaged: false, platform: 'darwin', env: {} }), false);
  });
});
