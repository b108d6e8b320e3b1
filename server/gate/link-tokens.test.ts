import assert from 'node:assert/strict';
import { LinkTokens, type SignedLink } from './link-tokens.ts';

const NOW = Date.UTC(2026, 10, 1);
/** The tunnels of the tests. */
const ONE = { id: 'one', createdAt: NOW - 1000 };
const TWO = { id: 'two', createdAt: NOW - 1000 };
const LINK: SignedLink = { id: '0123456789abcdef', note: 'for the review', end: NOW / 1000 + 60 };

describe('LinkTokens', () => {
  const keys = { current: 'secret', others: [] };
  const tokens = new LinkTokens(() => keys);

  it('say which link it is, whatever it is called, until its end', () => {
    for (const note of ['', 'for the review', 'Ünïcode 🦊 %00 \u0085?&#', '🦊'.repeat(64)]) {
      const link = { ...LINK, note };
      const token = tokens.make('one', link);
      assert.match(token, /^[\w.-]+$/);
      assert.deepEqual(tokens.read(token, ONE, NOW), link);
      assert.deepEqual(tokens.read(token, ONE, LINK.end * 1000 - 1), link);
      assert.equal(tokens.read(token, ONE, LINK.end * 1000), undefined);
    }
  });

  it('are good for one tunnel', () => {
    assert.equal(tokens.read(tokens.make('one', LINK), TWO, NOW), undefined);
  });

  it('cannot be made up, changed, cut, or put together from others', () => {
    const good = tokens.make('one', LINK);
    const [id = '', end = '', note = '', mac = ''] = good.split('.');
    const later = tokens.make('one', { ...LINK, end: LINK.end + 1 });
    const forged = [
      '',
      '...',
      good.toUpperCase(),
      ` ${good}`,
      `${good}%20`,
      `${good}.`,
      `${good}=`,
      good.slice(0, -1),
      `0${good}`,
      `${id}.${LINK.end + 1}.${note}.${mac}`,
      `${id}.0${end}.${note}.${mac}`,
      `fedcba9876543210.${end}.${note}.${mac}`,
      `${id}.${end}.${Buffer.from('the boss').toString('base64url')}.${mac}`,
      `${id}.${end}..${mac}`,
      `${id}.${end}.${note}.${later.split('.')[3]}`,
      `${id}.${end}.${note}.${'A'.repeat(43)}`,
      `${id}.1e99.${note}.${mac}`,
      new LinkTokens(() => ({ current: 'another', others: [] })).make('one', LINK),
    ];
    for (const token of forged) assert.equal(tokens.read(token, ONE, NOW), undefined, token);
  });

  it('of earlier keys are valid for tunnels that existed then', () => {
    const old = new LinkTokens(() => ({ current: 'old', others: [] })).make('one', LINK);
    const later = new LinkTokens((createdAt) => ({
      current: 'new',
      others: createdAt < NOW ? ['older', 'old'] : [],
    }));
    assert.deepEqual(later.read(old, ONE, NOW), LINK);
    assert.equal(later.read(old, { ...ONE, createdAt: NOW }, NOW), undefined);
    assert.deepEqual(later.read(later.make('one', LINK), { ...ONE, createdAt: NOW }, NOW), LINK);
  });
});
