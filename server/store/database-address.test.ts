import assert from 'node:assert/strict';
import { nameOfDatabase, readDatabaseAddress } from './database-address.ts';

describe('readDatabaseAddress', () => {
  it('reads both kinds', () => {
    assert.deepEqual(readDatabaseAddress('sqlite:a b.db'), { kind: 'sqlite', path: 'a b.db' });
    for (const url of ['postgres://db/culvert', 'postgresql://u:p@[::1]:5433/c?sslmode=verify-full']) {
      assert.deepEqual(readDatabaseAddress(url), { kind: 'postgres', url });
    }
    const bySocket = 'postgres:///culvert?host=/run/postgresql';
    assert.deepEqual(readDatabaseAddress(bySocket), { kind: 'postgres', url: bySocket });
  });

  for (const text of [
    'culvert.db',
    'sqlite:',
    'postgres://db',
    'postgres://db/',
    'postgres://db/a/b',
    'mysql://db/c',
  ]) {
    it(`rejects ${text}`, () => assert.equal(readDatabaseAddress(text), undefined));
  }
});

describe('nameOfDatabase', () => {
  it('hides the password', () => {
    const url = 'postgres://ann:secret@db:5433/culvert?password=secret';
    assert.equal(nameOfDatabase({ kind: 'postgres', url }), 'postgres://ann@db:5433/culvert');
    assert.equal(nameOfDatabase({ kind: 'postgres', url: 'postgres://db/culvert' }), 'postgres://db/culvert');
    assert.equal(nameOfDatabase({ kind: 'sqlite', path: '/x/culvert.db' }), '/x/culvert.db');
  });
});
