import assert from 'node:assert/strict';
import { share } from './use-snapshot.ts';

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
