import assert from 'node:assert/strict';
import { exampleTunnel } from '../../testing/views.ts';
import { filterTunnels } from './filter.ts';

describe('search of tunnels', () => {
  const shop = exampleTunnel({ url: 'https://shop.example.com', localPort: 5173, framework: 'Vite' });
  const hooks = exampleTunnel({ url: 'https://hooks.example.com', localPort: 3000 });

  it('finds by address, port and framework, with all words', () => {
    assert.deepEqual(filterTunnels([shop, hooks], 'SHOP', 0), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], '3000', 0), [hooks]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite shop', 0), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite hooks', 0), []);
  });

  it('finds a folder by its name', () => {
    const site = exampleTunnel({ folder: 'Holiday' });
    assert.deepEqual(filterTunnels([shop, site], 'folder holiday', 0), [site]);
    assert.deepEqual(filterTunnels([site], '3000', 0), []);
  });

  it('finds by state', () => {
    const lost = exampleTunnel({ key: 'l', status: { name: 'reconnecting', retryAt: 0, why: '' } });
    assert.deepEqual(filterTunnels([shop, lost], 'reconnecting', 0), [lost]);
    assert.deepEqual(filterTunnels([shop, lost], 'online', 0), [shop]);
  });

  it('keeps all for an empty search', () => {
    assert.deepEqual(filterTunnels([shop, hooks], '  ', 0), [shop, hooks]);
  });
});
