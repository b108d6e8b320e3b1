import assert from 'node:assert/strict';
import type { Settings } from '../../shared/snapshot.ts';
import { exampleSnapshot } from '../../testing/views.ts';
import { openWishes } from './wishes.ts';

describe('wishes', () => {
  const settings: Settings = { ...exampleSnapshot().settings, startsAtLogin: true };

  it('are over once the settings fulfil them', () => {
    assert.deepEqual(openWishes({ startsAtLogin: true, theme: 'dark' }, settings), { theme: 'dark' });
  });

  it('outlast an earlier snapshot', () => {
    const wishes = { startsAtLogin: false };
    assert.equal(openWishes(wishes, settings), wishes);
  });
});
