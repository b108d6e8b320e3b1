import assert from 'node:assert/strict';
import { LinkTokens, type SignedLink } from './link-tokens.ts';

const NOW = Date.UTC(2026, 10, 1);
const LINK: SignedLink = { id: '0123456789abcdef', note: 'for the review', end: NOW / 1000 + 60 };

describe('LinkTokens', () => {
  const tokens = new LinkTokens('secret');

  it('say which link it is, whatever it is called, until its end', () => {
    for (const note of ['', 'for the review', 'Ünïcode 🦊 %00 \u0085?&#', '🦊'.repeat(64)]) {
      const link = { ...LINK, note };
      const token = tokens.make('one', link);
      assert.match(token, /^[\w.-]+$/);
      assert.deepEqual(tokens.read(token, 'one', NOW), link);
      assert.deepEqual(tokens.read(token, 'one', LINK.end * 1000 - 1), link);
      assert.equal(tokens.read(token, 'one', LINK.end * 1000), undefined);
    }
  });

  it('are good for one tunnel', () => {
    assert.equal(tokens.read(tokens.make('one', LINK), 'two', NOW), undefined);
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
      new LinkTokens('another').make('one', LINK),
    ];
    for (const token of forged) assert.equal(tokens.read(token, 'one', NOW), undefined, token);
  });
});
