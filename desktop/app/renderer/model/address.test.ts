import assert from 'node:assert/strict';
import { addressParts, domainLabel, NEW_DOMAIN, NO_DOMAIN, readDomainDraft, withDomain } from './address.ts';

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

const PENDING = { id: '1', domain: 'app.example.com', status: 'pending' as const, records: [] };

describe('the domain of a new tunnel', () => {
  it('is none, or a verified domain', () => {
    assert.deepEqual(readDomainDraft(NO_DOMAIN), { domain: '' });
    assert.deepEqual(readDomainDraft({ choice: 'app.example.com', isVerified: true }), {
      domain: 'app.example.com',
    });
  });

  it('cannot be one that is missing or not verified', () => {
    for (const choice of [NEW_DOMAIN, 'app.example.com'])
      assert.ok('problem' in readDomainDraft({ choice, isVerified: false }));
  });

  it('marks domains that are not verified', () => {
    assert.equal(domainLabel(PENDING), 'app.example.com (not verified)');
    assert.equal(domainLabel({ ...PENDING, status: 'verified' }), 'app.example.com');
  });

  it('is shown in its current state', () => {
    const verified = { ...PENDING, status: 'verified' as const };
    assert.deepEqual(withDomain([], PENDING), [PENDING]);
    assert.deepEqual(withDomain([PENDING], verified), [verified]);
  });
});
