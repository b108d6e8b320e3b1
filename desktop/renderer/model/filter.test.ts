import assert from 'node:assert/strict';
import { exampleTunnel } from '../../testing/views.ts';
import { filterTunnels } from './filter.ts';

describe('search of tunnels', () => {
  const shop = exampleTunnel({ url: 'https://shop.example.com', localPort: 5173, framework: 'Vite' });
  const hooks = exampleTunnel({ url: 'https://hooks.example.com', localPort: 3000 });

  it('finds by address, port and framework, with all words', () => {
    assert.deepEqual(filterTunnels([shop, hooks], 'SHOP'), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], '3000'), [hooks]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite shop'), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite hooks'), []);
  });

  it('keeps all for an empty search', () => {
    assert.deepEqual(filterTunnels([shop, hooks], '  '), [shop, hooks]);
  });
});
