import assert from 'node:assert/strict';
import { env } from 'node:process';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { bytesText, capitalised, clockText, countText, latencyText, momentText } from './numbers.ts';

describe('numbers', () => {
  const sizes: readonly [bytes: number, text: string][] = [
    [0, '0 B'],
    [1, '1 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1100, '1.1 KiB'],
    // As the limits that it may be compared with.
    [65_536, '64 KiB'],
    [262_144, '256 KiB'],
    [123_456, '121 KiB'],
    [36_200_000, '34.5 MiB'],
    [5e15, '4547 TiB'],
  ];
  for (const [bytes, text] of sizes) {
    it(`writes ${bytes} bytes as "${text}"`, () => assert.equal(bytesText(bytes), text));
  }

  const times: readonly [ms: number, text: string][] = [
    [0.4, '0 ms'],
    [12.4, '12 ms'],
    [999.6, '1.0 s'],
    [1234, '1.2 s'],
    [125_000, '2 min 5 s'],
  ];
  for (const [ms, text] of times) {
    it(`writes ${ms} ms as "${text}"`, () => assert.equal(latencyText(ms), text));
  }

  it('follow the current time zone of the machine', () => {
    const { TZ } = env;
    try {
      const inZones = ['UTC', 'Asia/Tokyo'].map((zone) => {
        env['TZ'] = zone;
        return clockText(Date.UTC(2026, 0, 1, 3, 4, 5))
          .replace(/\D+/g, ' ')
          .trim();
      });
      assert.deepEqual(inZones, ['03 04 05', '12 04 05']);
    } finally {
      if (TZ === undefined) delete env['TZ'];
      else env['TZ'] = TZ;
    }
  });

  it('capitalise a word', () => assert.equal(capitalised('dev'), 'Dev'));
});

describe('numbers in other languages', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('have the decimal comma and the thousands point in German', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(countText(1284), '1.284');
    const sizes = [1, 1234, 36_200_000].map((size) => bytesText(size).replace(/\s/g, ' '));
    assert.deepEqual(sizes, ['1 B', '1,2 KiB', '34,5 MiB']);
    assert.deepEqual([12.4, 1234].map(latencyText), ['12 ms', '1,2 s']);
  });

  it('follow the region', () => {
    const moment = Date.UTC(2026, 0, 15, 12);
    setLocale({ language: 'en', tag: 'en-US' });
    assert.match(momentText(moment), /^Jan 15, 2026/);
    setLocale({ language: 'en', tag: 'en-GB' });
    assert.match(momentText(moment), /^15 Jan 2026/);
  });
});
