import assert from 'node:assert/strict';
import { anAccount } from '../testing/fixtures.ts';
import { tunnelUrls } from './urls.ts';

describe('tunnelUrls', () => {
  const local = {
    publicUrl: new URL('http://localhost:8080'),
    tunnelDomain: 'localhost',
    serviceDomain: 'localhost',
    pathForm: true,
  };
  const hosted = {
    publicUrl: new URL('https://relay.example.com'),
    tunnelDomain: 'tunnels.example.com',
    serviceDomain: 'example.net',
    pathForm: true,
  };

  it('hands out the subdomain, with the port of the relay', () => {
    assert.deepEqual(tunnelUrls({ slug: 'web', account: anAccount(), domain: null }, local), {
      public_url: 'http://web.localhost:8080',
      urls: { subdomain: 'http://web.localhost:8080', path: 'http://localhost:8080/t/web' },
    });
  });

  it('has no address below the relay without the path form', () => {
    const addresses = { ...local, pathForm: false };
    assert.deepEqual(tunnelUrls({ slug: 'web', account: anAccount(), domain: null }, addresses), {
      public_url: 'http://web.localhost:8080',
      urls: { subdomain: 'http://web.localhost:8080' },
    });
  });

  it('hands out the address below the account if there is one', () => {
    assert.deepEqual(
      tunnelUrls({ slug: 'web', account: anAccount({ subdomain: 'acme' }), domain: null }, hosted),
      {
        public_url: 'https://web.acme.example.net',
        urls: {
          subdomain: 'https://web.tunnels.example.com',
          path: 'https://relay.example.com/t/web',
          account: 'https://web.acme.example.net',
        },
      },
    );
  });

  it("hands out the tunnel's domain if there is one, with the port of the relay", () => {
    const account = anAccount({ subdomain: 'acme' });
    const tunnel = { slug: 'web', account, domain: 'app.shop.example' };
    const { public_url, urls } = tunnelUrls(tunnel, local);
    assert.deepEqual(
      [public_url, urls.domain, urls.account],
      ['http://app.shop.example:8080', 'http://app.shop.example:8080', 'http://web.acme.localhost:8080'],
    );
  });
});
