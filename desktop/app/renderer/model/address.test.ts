import assert from 'node:assert/strict';
import {
  addressParameters,
  addressParts,
  domainLabel,
  NEW_DOMAIN,
  NO_DOMAIN,
  readDomainDraft,
  withDomain,
} from './address.ts';

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

const shown = (target: string) => addressParameters(`GET ${target} HTTP/1.1`).shown;

describe('parameters of an address', () => {
  it('are decoded in order, including repeated ones', () => {
    assert.deepEqual(shown('/a?q=caf%C3%A9+au+lait&tag=1&tag=2&empty=&flag'), [
      ['q', 'café au lait'],
      ['tag', '1'],
      ['tag', '2'],
      ['empty', ''],
      ['flag', ''],
    ]);
  });

  it('are empty without a query, and unchanged if they cannot be decoded', () => {
    assert.deepEqual(shown('/a'), []);
    assert.deepEqual(shown('/a?'), []);
    assert.deepEqual(shown('/a?x=%zz&y=[redacted]'), [
      ['x', '%zz'],
      ['y', '[redacted]'],
    ]);
  });

  it('contain no characters that hide or reverse text', () =>
    assert.deepEqual(shown('/a?%E2%80%AEx=%1b'), [['\\u{202e}x', '\\x1b']]));

  it('are at most 200, with the number of the others', () => {
    const { shown: kept, more } = addressParameters(`GET /?${'a=1&'.repeat(250)} HTTP/1.1`);
    assert.deepEqual([kept.length, more], [200, 50]);
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
