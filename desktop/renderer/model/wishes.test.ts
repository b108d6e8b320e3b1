import assert from 'node:assert/strict';
import type { Settings } from '../../shared/snapshot.ts';
import { openWishes } from './wishes.ts';

describe('wishes', () => {
  const settings: Settings = { startsAtLogin: true, notifies: true, theme: 'system', onQuit: 'ask' };

  it('are over once the settings fulfil them', () => {
    assert.deepEqual(openWishes({ startsAtLogin: true, theme: 'dark' }, settings), { theme: 'dark' });
  });

  it('outlast an earlier snapshot', () => {
    const wishes = { startsAtLogin: false };
    assert.equal(openWishes(wishes, settings), wishes);
  });
});
