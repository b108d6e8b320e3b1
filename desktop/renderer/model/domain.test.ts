import assert from 'node:assert/strict';
import { domainLabel, NEW_DOMAIN, NO_DOMAIN, readDomainDraft, withDomain } from './domain.ts';

const PENDING = { id: '1', domain: 'app.example.com', status: 'pending' as const, records: [] };

describe('the own address of a new tunnel', () => {
  it('is none, or a verified domain', () => {
    assert.deepEqual(readDomainDraft(NO_DOMAIN), { domain: '' });
    assert.deepEqual(readDomainDraft({ choice: 'app.example.com', isVerified: true }), {
      domain: 'app.example.com',
    });
  });

  it('is not one that is not there yet, or not verified', () => {
    for (const choice of [NEW_DOMAIN, 'app.example.com'])
      assert.ok('problem' in readDomainDraft({ choice, isVerified: false }));
  });

  it('says which domains are not verified', () => {
    assert.equal(domainLabel(PENDING), 'app.example.com (not verified)');
    assert.equal(domainLabel({ ...PENDING, status: 'verified' }), 'app.example.com');
  });

  it('is shown as it is now', () => {
    const verified = { ...PENDING, status: 'verified' as const };
    assert.deepEqual(withDomain([], PENDING), [PENDING]);
    assert.deepEqual(withDomain([PENDING], verified), [verified]);
  });
});
