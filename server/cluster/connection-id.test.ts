import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connectionId, RELAY_NUMBER_MAX, relayOf } from './connection-id.ts';

const SECRET = 's'.repeat(32);

describe('connectionId', () => {
  for (const relay of [1, 255, 4096, RELAY_NUMBER_MAX]) {
    it(`identifies relay ${relay}`, () => assert.equal(relayOf(connectionId(relay, SECRET), SECRET), relay));
  }

  it('is almost never accepted if it was guessed, or created by another cluster', () => {
    const made = 5000;
    const strangers = Array.from({ length: made }, () => `0001${randomUUID().slice(4)}`);
    const others = Array.from({ length: made }, () => connectionId(1, 'x'.repeat(32)));
    for (const ids of [strangers, others]) {
      const passed = ids.filter((id) => relayOf(id, SECRET) !== undefined).length;
      // One in 256 on average; exceeding this bound would happen once in a thousand billion runs.
      assert.ok(passed < made / 64, `${passed} of ${made}`);
    }
  });

  it('has 98 random bits, which determine the bits of the proof', () => {
    const ids = Array.from({ length: 2000 }, () =>
      BigInt(`0x${connectionId(7, SECRET).replaceAll('-', '')}`),
    );
    const ones = ids.reduce((all, id) => all | id, 0n);
    const always = ids.reduce((all, id) => all & id);
    const varying = (ones & ~always).toString(2).replaceAll('0', '').length;
    assert.equal(varying, 98 + 8);
  });

  it('is distinguished from anything else', () => {
    for (const text of [
      '',
      '0001',
      'x'.repeat(36),
      connectionId(1, SECRET).toUpperCase(),
      `${connectionId(1, SECRET)}0`,
    ]) {
      assert.equal(relayOf(text, SECRET), undefined);
    }
  });
});
