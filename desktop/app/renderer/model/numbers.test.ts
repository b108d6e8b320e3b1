import assert from 'node:assert/strict';
import { env } from 'node:process';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { bytesText, capitalised, clockText, countText, latencyText, momentText } from './numbers.ts';

describe('numbers', () => {
  const sizes: readonly [bytes: number, text: string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [99_949, '99.9 kB'],
    [123_456, '123 kB'],
    [999_950, '1.0 MB'],
    [36_200_000, '36.2 MB'],
    [5e15, '5000 TB'],
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
    const sizes = [1, 999, 1234, 36_200_000].map((size) => bytesText(size).replace(/\s/g, ' '));
    assert.deepEqual(sizes, ['1 Byte', '999 Byte', '1,2 kB', '36,2 MB']);
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
