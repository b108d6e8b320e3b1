import assert from 'node:assert/strict';
import { connectionId, RELAY_NUMBER_MAX, relayOf } from './connection-id.ts';

describe('connectionId', () => {
  for (const relay of [1, 255, 4096, RELAY_NUMBER_MAX]) {
    it(`names relay ${relay}`, () => assert.equal(relayOf(connectionId(relay)), relay));
  }

  it('leaves 106 bits to chance', () => {
    const ids = Array.from({ length: 2000 }, () => BigInt(`0x${connectionId(7).replaceAll('-', '')}`));
    const ones = ids.reduce((all, id) => all | id, 0n);
    const always = ids.reduce((all, id) => all & id);
    const varying = (ones & ~always).toString(2).replaceAll('0', '').length;
    assert.equal(varying, 106);
  });

  it('is told from anything else', () => {
    for (const text of ['', '0001', 'x'.repeat(36), connectionId(1).toUpperCase(), `${connectionId(1)}0`]) {
      assert.equal(relayOf(text), undefined);
    }
  });
});
