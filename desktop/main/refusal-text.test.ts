import assert from 'node:assert/strict';
import { ALL_API_ERRORS, tooManyTunnels, ttlTooLong } from '../../shared/errors.ts';
import { RelayRefusal } from '../engine/relay/errors.ts';
import { REFUSALS_DE } from '../i18n/de/refusals.ts';
import { REFUSALS } from '../i18n/en/refusals.ts';
import { DEFAULT_LOCALE } from '../i18n/locale.ts';
import { setLocale } from '../i18n/translate.ts';
import { refusalText } from './refusal-text.ts';

const refused = ({ status, code, text }: { status: number; code: string; text: string }) =>
  refusalText(new RelayRefusal(status, text, { code }));

describe('the words of a refusal', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it("are the relay's own in English, for every error that it has", () => {
    assert.deepEqual(
      REFUSALS,
      Object.fromEntries(ALL_API_ERRORS.map(({ code, text }) => [`refusal.${code}`, text])),
    );
    for (const error of ALL_API_ERRORS) assert.equal(refused(error), error.text);
  });

  it('are German for every error, with what the relay has put into its text', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const german: Readonly<Record<string, string>> = REFUSALS_DE;
    for (const error of ALL_API_ERRORS)
      assert.equal(refused(error), german[`refusal.${error.code}`], error.code);
    assert.equal(refused(ttlTooLong('24h')), 'die Laufzeit darf höchstens 24h sein');
    assert.equal(
      refused(tooManyTunnels('Free', 2, '2026-03-01T10:00:00Z')),
      'der Tarif Free erlaubt 2 Tunnel zugleich; schließen Sie einen, oder warten Sie bis 2026-03-01T10:00:00Z, dann läuft der nächste ab',
    );
  });

  it("are the relay's where this app knows no such error, or another text of it", () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(refused({ status: 409, code: 'new-one', text: 'it is new' }), 'it is new');
    assert.equal(refused({ status: 400, code: 'invalid-ttl', text: 'no, not that' }), 'no, not that');
  });
});
