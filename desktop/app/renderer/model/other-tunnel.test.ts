import assert from 'node:assert/strict';
import { exampleOther } from '../../../testing/views.ts';
import { filterOthers, otherState, share } from './other-tunnel.ts';

describe('a tunnel that this app does not serve', () => {
  it('shows who serves it, if anybody', () => {
    assert.deepEqual(otherState(exampleOther({ isHere: true })), {
      shape: 'online',
      word: 'Online',
      where: 'The command on this computer',
    });
    assert.match(otherState(exampleOther()).where, /Another computer/);
    const offline = otherState(exampleOther({ isOnline: false }));
    assert.deepEqual([offline.word, offline.where], ['Offline', "The tunnel's client is not connected"]);
    assert.equal(otherState(exampleOther({ isStopping: true })).word, 'Stopping');
  });

  it('is found by address, port and state', () => {
    const [shop, docs] = [
      exampleOther({ key: 'a', url: 'https://shop.example.com', localPort: 3000 }),
      exampleOther({
        key: 'b',
        url: 'https://docs.example.com',
        localPort: 4000,
        isOnline: false,
        createdBy: 'ann',
      }),
    ];
    const all = [shop, docs];
    for (const [typed, found] of [
      ['', all],
      ['SHOP', [shop]],
      ['4000', [docs]],
      ['offline example', [docs]],
      ['ann', [docs]],
      ['nothing', []],
    ] as const)
      assert.deepEqual(filterOthers(all, typed), found, typed);
  });
});

describe('share', () => {
  it('returns the previous value if nothing changed', () => {
    const previous = {
      session: { state: 'signed-out', relay: undefined },
      tunnels: [{ key: 'a', recent: [] }],
    };
    assert.equal(share(previous, structuredClone(previous)), previous);
  });

  it('keeps unchanged parts, even of moved items', () => {
    const a = { key: 'a', requests: 1 };
    const b = { key: 'b', requests: 1 };
    const next = share(
      { tunnels: [a, b] },
      { tunnels: [{ key: 'c', requests: 0 }, { ...a }, { ...b, requests: 2 }] },
    );
    assert.equal(next.tunnels[1], a);
    assert.notEqual(next.tunnels[2], b);
    assert.deepEqual(next.tunnels, [{ key: 'c', requests: 0 }, a, { key: 'b', requests: 2 }]);
  });

  it('detects removed items, removed fields and a changed order', () => {
    assert.deepEqual(share([{ key: 'a' }, { key: 'b' }], [{ key: 'b' }]), [{ key: 'b' }]);
    assert.deepEqual(share({ a: 1, b: 2 }, { a: 1 }), { a: 1 });
    assert.deepEqual(share<unknown>({ a: 1 }, { b: 1 }), { b: 1 });
    assert.deepEqual(share([{ key: 'a' }, { key: 'b' }], [{ key: 'b' }, { key: 'a' }]), [
      { key: 'b' },
      { key: 'a' },
    ]);
  });
});
