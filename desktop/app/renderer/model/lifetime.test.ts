import assert from 'node:assert/strict';
import { createChoices, defaultChoice, extendChoices, readLifetime } from './lifetime.ts';

const HOUR = 3600;

describe('lifetime', () => {
  it('offers the lifetimes that the relay allows, including its default', () => {
    assert.deepEqual(
      createChoices(HOUR, 24 * HOUR).map(({ ttl }) => ttl),
      ['15m', '1h', '8h', '24h'],
    );
    assert.deepEqual(createChoices(2 * HOUR, 8 * HOUR)[0], { ttl: '', label: '2 h' });
    assert.equal(defaultChoice(HOUR), '1h');
    assert.equal(defaultChoice(2 * HOUR), '');
  });

  it("offers extensions up to the relay's maximum", () => {
    const labels = (expiresAt: number) => extendChoices(expiresAt, 8 * HOUR, 0).map(({ label }) => label);
    assert.deepEqual(labels(0), ['15 min', '1 h', '8 h']);
    assert.deepEqual(labels(1000), ['15 min', '1 h']);
    assert.deepEqual(labels(8 * HOUR * 1000), []);
  });

  const typed: readonly [text: string, ttl: string][] = [
    ['90m', '90m'],
    ['1h 30 min', '1h30m'],
    ['2 hours', '2h'],
    ['1.5 h', '1.5h'],
    ['45 seconds', '45s'],
    ['2 days', '48h'],
    ['1d 12h', '24h12h'],
    ['90', '90m'],
    ['2h30', '2h30m'],
    ['1w', '168h'],
    ['0.5 weeks', '84h'],
    ['2 Tage 3 Std.', '48h3h'],
    ['1 Stunde 30 Minuten', '1h30m'],
    ['1 Woche', '168h'],
    ['90 Sek.', '90s'],
  ];
  for (const [text, ttl] of typed) {
    it(`reads "${text}"`, () => assert.deepEqual(readLifetime(text, 168 * HOUR), { ttl }));
  }

  it('explains invalid and too long input', () => {
    for (const text of ['', '30x', '30m15', 'soon', '0s', '-1h', '1h!']) {
      assert.ok('problem' in readLifetime(text, 168 * HOUR), text);
    }
    assert.deepEqual(readLifetime('9h', 8 * HOUR), { problem: 'The relay allows at most 8 h.' });
  });
});
