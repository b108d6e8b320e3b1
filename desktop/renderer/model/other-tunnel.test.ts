import assert from 'node:assert/strict';
import { exampleOther } from '../../testing/views.ts';
import { filterOthers, otherState } from './other-tunnel.ts';

describe('a tunnel that this app does not serve', () => {
  it('says who serves it, and whether anybody does', () => {
    assert.deepEqual(otherState(exampleOther({ isHere: true })), {
      shape: 'online',
      word: 'Online',
      where: 'The command on this computer',
    });
    assert.match(otherState(exampleOther()).where, /Another computer/);
    const offline = otherState(exampleOther({ isOnline: false }));
    assert.deepEqual([offline.word, offline.where], ['Offline', 'Its program is not connected']);
    assert.equal(otherState(exampleOther({ isStopping: true })).word, 'Stopping');
  });

  it('is found by address, port and state', () => {
    const [shop, docs] = [
      exampleOther({ key: 'a', url: 'https://shop.example.com', localPort: 3000 }),
      exampleOther({ key: 'b', url: 'https://docs.example.com', localPort: 4000, isOnline: false }),
    ];
    const all = [shop, docs];
    for (const [typed, found] of [
      ['', all],
      ['SHOP', [shop]],
      ['4000', [docs]],
      ['offline example', [docs]],
      ['nothing', []],
    ] as const)
      assert.deepEqual(filterOthers(all, typed), found, typed);
  });
});
