import assert from 'node:assert/strict';
import {
  ALL_API_ERRORS,
  API_ERRORS,
  invalidKnockAnswer,
  tooManyTunnels,
  ttlTooLong,
} from '../../shared/errors.ts';
import { TTL_RULE } from '../../shared/value-rules.ts';
import { judge } from '../engine/control/verdict.ts';
import { RelayRefusal } from '../engine/relay/errors.ts';
import { REFUSALS_DE } from './de/refusals.ts';
import { REFUSALS } from './en/refusals.ts';
import { DEFAULT_LOCALE } from './locale.ts';
import { told } from './told.ts';
import { setLocale } from './translate.ts';

const refused = ({ status, code, text }: { status: number; code: string; text: string }) =>
  told(new RelayRefusal(status, text, { code }).said);

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

  it('are German as a part of what the engine says', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const { status, code, text } = API_ERRORS.rateLimited;
    const { why } = judge({ kind: 'refused', refusal: new RelayRefusal(status, text, { code }) });
    assert.equal(told(why), 'Das Relay hat vorerst abgelehnt: das waren zu viele Anfragen.');
  });

  it('have what a value may be in German, too', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(
      refused(invalidKnockAnswer(`ttl must be ${TTL_RULE.accepted}`)),
      'ungültig: ttl, erlaubt ist eine Dauer wie 90s, 30m, 4h oder 1h30m, mindestens 1s',
    );
  });

  it("are the relay's where this app knows no such error, or another text of it", () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(refused({ status: 409, code: 'new-one', text: 'it is new' }), 'it is new');
    assert.equal(refused({ status: 400, code: 'invalid-ttl', text: 'no, not that' }), 'no, not that');
  });
});
