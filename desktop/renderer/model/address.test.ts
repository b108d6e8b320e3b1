import assert from 'node:assert/strict';
import { addressParts } from './address.ts';

describe('address parts', () => {
  it('puts the slug of a subdomain first', () => {
    assert.deepEqual(addressParts('https://shop.tunnels.example.com', 'shop'), {
      before: '',
      slug: 'shop',
      after: '.tunnels.example.com',
    });
  });

  it('puts the slug of a path last', () => {
    assert.deepEqual(addressParts('http://localhost:8080/t/shop', 'shop'), {
      before: 'localhost:8080/t/',
      slug: 'shop',
      after: '',
    });
  });

  it('shows an address of another form as a whole', () => {
    assert.deepEqual(addressParts('https://shop-2.example.com/', 'shop'), {
      before: '',
      slug: 'shop-2.example.com',
      after: '',
    });
  });
});
