import assert from 'node:assert/strict';
import { readRecord, writeRecord } from './member-record.ts';

describe('what a relay says about itself in Redis', () => {
  const SECRET = 's'.repeat(32);

  for (const host of ['10.0.0.2', '::2', 'relay-2.internal']) {
    it(`is one word, from which ${host} is read back`, () => {
      const relay = { incarnation: 'two', host, port: 8 };
      const record = writeRecord(relay, SECRET);
      assert.match(record, /^\S+$/);
      assert.ok(!record.includes(SECRET));
      assert.deepEqual(readRecord(record, 'two', SECRET), relay);
    });
  }

  const record = writeRecord({ incarnation: 'two', host: '10.0.0.2', port: 8 }, SECRET);

  it('is not valid under another secret, or for another life of a relay', () => {
    assert.equal(readRecord(record, 'two', 'x'.repeat(32)), undefined);
    assert.equal(readRecord(record, 'three', SECRET), undefined);
  });

  it('is not valid with any character changed, left out or added', () => {
    for (let at = 0; at < record.length; at += 1) {
      const other = record[at] === '1' ? '2' : '1';
      assert.equal(readRecord(record.slice(0, at) + other + record.slice(at + 1), 'two', SECRET), undefined);
      assert.equal(readRecord(record.slice(0, at) + record.slice(at + 1), 'two', SECRET), undefined);
    }
    for (const text of ['', '?', '10.0.0.2:8', `${record}0`, ` ${record}`])
      assert.equal(readRecord(text, 'two', SECRET), undefined);
  });
});
