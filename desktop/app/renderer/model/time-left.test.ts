import assert from 'node:assert/strict';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import {
  createChoices,
  durationWords,
  expiresSoon,
  extendChoices,
  readLifetime,
  sparklineDrawing,
  stayWords,
  timeLeftWords,
  wholeWords,
} from './time-left.ts';

const HOUR = 3600;

describe('lifetime', () => {
  it('offers to stay open, and the lifetimes that the relay allows', () => {
    assert.deepEqual(
      createChoices(24 * HOUR).map(([ttl]) => ttl),
      ['', '15m', '1h', '8h', '24h'],
    );
  });

  it("offers extensions up to the relay's maximum", () => {
    const labels = (expiresAt: number) => extendChoices(expiresAt, 8 * HOUR, 0).map(([, label]) => label);
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

const MINUTE = 60_000;
const TIME_LEFT_HOUR = 60 * MINUTE;

describe('time left', () => {
  const words: readonly [ms: number, text: string][] = [
    [0, '0 s'],
    [45_900, '45 s'],
    [MINUTE, '1 min'],
    [80_000, '1 min 20 s'],
    [2 * MINUTE + 59_000, '2 min'],
    [41 * MINUTE, '41 min'],
    [TIME_LEFT_HOUR, '1 h'],
    [2 * TIME_LEFT_HOUR + 58 * MINUTE + 59_000, '2 h 58 min'],
    [24 * TIME_LEFT_HOUR, '1 d'],
    [76 * TIME_LEFT_HOUR, '3 d 4 h'],
  ];
  for (const [ms, text] of words) {
    it(`says "${text}" for ${ms} ms`, () => assert.equal(durationWords(ms), text));
  }

  it('ends with "left", or is "Expires now" in the last second and after it', () => {
    assert.equal(timeLeftWords(100_000, 55_000), '45 s left');
    assert.equal(timeLeftWords(100_000, 99_001), 'Expires now');
    assert.equal(timeLeftWords(100_000, 200_000), 'Expires now');
  });

  it('is written out for whole units', () => {
    assert.deepEqual(
      [15 * MINUTE, TIME_LEFT_HOUR, 8 * TIME_LEFT_HOUR, 24 * TIME_LEFT_HOUR, 168 * TIME_LEFT_HOUR].map(
        wholeWords,
      ),
      ['15 minutes', '1 hour', '8 hours', '1 day', '7 days'],
    );
  });

  it('tells until when a tunnel stays', () => {
    const expiresAt = 41 * MINUTE;
    assert.equal(stayWords({ expiresAt, isIdle: false }, 0), '41 min left');
    assert.equal(stayWords({ expiresAt, isIdle: true, isKeptOpen: false }, 0), '41 min left if unused');
    assert.equal(stayWords({ expiresAt, isIdle: false, isKeptOpen: true }, 0), 'until you stop it');
  });

  it('warns in the last five minutes, but not during all the life of a short tunnel', () => {
    assert.equal(expiresSoon(5 * MINUTE, 3600, 0), true);
    assert.equal(expiresSoon(5 * MINUTE + 1, 3600, 0), false);
    assert.equal(expiresSoon(2 * MINUTE, 120, 0), false);
    assert.equal(expiresSoon(30_000, 120, 0), true);
  });
});

describe('time left, in German', () => {
  before(() => setLocale({ language: 'de', tag: 'de-DE' }));
  after(() => setLocale(DEFAULT_LOCALE));

  it('counts days in words', () => {
    assert.equal(durationWords(24 * TIME_LEFT_HOUR), '1 Tag');
    assert.equal(durationWords(76 * TIME_LEFT_HOUR), '3 Tage 4 Std.');
    assert.equal(wholeWords(168 * TIME_LEFT_HOUR), '7 Tage');
  });

  it('starts with "noch"', () => assert.equal(timeLeftWords(100_000, 55_000), 'noch 45 Sek.'));
});

/** The first second of a bar. */
const AT = 1002;
const second = (id: number, requests: number, refused = 0, errors = 0) => ({ id, requests, refused, errors });

describe('the drawing of a sparkline', () => {
  it('is missing without traffic in the last minute', () => {
    assert.equal(sparklineDrawing([], AT), undefined);
    assert.equal(sparklineDrawing([second(AT - 55, 3)], AT), undefined);
  });

  it('has a bar for every six seconds, the last one at its right end', () => {
    const seconds = [second(AT - 54, 1), second(AT, 1), second(AT + 5, 1), second(AT + 6, 9)];
    assert.deepEqual(sparklineDrawing(seconds, AT + 5), {
      requests: 'M0 16v-3h3v3zM36 16v-4.5h3v4.5z',
      refused: '',
      errors: '',
      words: '3 requests in the last minute, none failed',
    });
  });

  it('divides a bar by the true shares, and shows even a small one', () => {
    assert.deepEqual(sparklineDrawing([second(AT, 64, 16, 32)], AT), {
      requests: 'M36 16v-12h3v12z',
      refused: 'M36 10v-3h3v3z',
      errors: 'M36 16v-6h3v6z',
      words: '64 requests in the last minute, 48 failed',
    });
    assert.equal(sparklineDrawing([second(AT, 30, 0, 1)], AT)?.errors, 'M36 16v-1h3v1z');
    // It failed in a later bar than it began.
    assert.equal(sparklineDrawing([second(AT, 0, 0, 1)], AT)?.errors, 'M36 16v-3h3v3z');
  });

  it('has a maximum height, and a full description in words', () => {
    const drawing = sparklineDrawing([second(AT, 1_000_000)], AT);
    assert.deepEqual(
      [drawing?.requests, drawing?.words],
      ['M36 16v-16h3v16z', '1,000,000 requests in the last minute, none failed'],
    );
  });
});
