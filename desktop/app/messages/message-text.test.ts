import assert from 'node:assert/strict';
import * as accessRules from '../../../shared/access.ts';
import { DOMAIN_RULE } from '../../../shared/domains.ts';
import { ALL_API_ERRORS, API_ERRORS, withValues } from '../../../shared/errors.ts';
import * as valueRules from '../../../shared/value-rules.ts';
import { TTL_RULE, type ValueRule } from '../../../shared/value-rules.ts';
import { FLAG_RULE, FOLDER_RULE, KEEP_BODIES_RULE, WAIT_RULE } from '../../client/config/tunnel-spec.ts';
import { judge } from '../../client/control/verdict.ts';
import { toMessage, MESSAGES, textOf } from '../../client/messages.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import DE from './de.json' with { type: 'json' };
import { acceptedText, translateMessage } from './message-text.ts';
import { DEFAULT_LOCALE, setLocale } from './translate.ts';

describe('messages of the engine', () => {
  const said = toMessage('relay.unreachable', {
    origin: 'https://relay.test',
    why: toMessage('network.refused'),
  });
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('are the same in English as the command prints them', () => {
    assert.equal(
      textOf(said),
      'The relay at https://relay.test cannot be reached: nothing is listening there',
    );
    assert.equal(translateMessage(said), textOf(said));
    assert.equal(translateMessage('EWHATEVER'), 'EWHATEVER');
  });

  it('are entirely German in German', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(
      translateMessage(said),
      'Das Relay unter https://relay.test ist nicht erreichbar: dort lauscht nichts',
    );
  });

  it('may have lines, and what a rule accepts', () => {
    const value = toMessage('project.empty');
    const both = [toMessage('project.takes', { value, accepted: FLAG_RULE }), 'what a library says'];
    assert.equal(textOf(both), 'is empty, but must be true or false\nwhat a library says');
    assert.equal(translateMessage(both), textOf(both));
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(translateMessage(both), 'ist leer; erlaubt: true oder false\nwhat a library says');
  });

  it('have a value for each placeholder', () => {
    assert.throws(
      () => toMessage('relay.unreachable', { origin: 'https://relay.test' }),
      /"relay.unreachable" has no why/,
    );
  });

  it('have only plain placeholders, which both formats can fill', () => {
    for (const text of Object.values(MESSAGES)) assert.doesNotMatch(text.replaceAll(/\{\w+\}/g, ''), /[{}]/);
  });
});

const refused = ({ status, code, text }: { status: number; code: string; text: string }) =>
  translateMessage(new RelayRefusal(status, text, { code }).said);

describe('the words of a refusal', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it("are the relay's own in English, for every error it has", () => {
    for (const error of ALL_API_ERRORS) assert.equal(refused(error), error.text);
  });

  it('are German for every error, with the values that the relay inserted', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const german: Readonly<Record<string, string>> = DE;
    for (const error of ALL_API_ERRORS)
      assert.equal(refused(error), german[`refusal.${error.code}`], error.code);
    assert.equal(
      refused(withValues(API_ERRORS.ttlTooLong, { duration: '24h' })),
      'die Laufzeit darf höchstens 24h sein',
    );
    assert.equal(
      refused(
        withValues(API_ERRORS.tooManyTunnels, { plan: 'Free', number: 2, time: '2026-03-01T10:00:00Z' }),
      ),
      'der Tarif Free erlaubt 2 Tunnel zugleich; schließen Sie einen, oder warten Sie bis 2026-03-01T10:00:00Z, dann läuft der nächste ab',
    );
  });

  it('are German inside a message of the engine', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const { status, code, text } = API_ERRORS.rateLimited;
    const { why } = judge({ kind: 'refused', refusal: new RelayRefusal(status, text, { code }) });
    assert.equal(translateMessage(why), 'Das Relay hat vorerst abgelehnt: das waren zu viele Anfragen.');
  });

  it('also describe accepted values in German', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(
      refused(withValues(API_ERRORS.invalidKnockAnswer, { field: 'ttl', rule: TTL_RULE.accepted })),
      'ungültig: ttl, erlaubt ist eine Dauer von mindestens 1s, etwa 90s, 30m, 4h oder 1h30m',
    );
  });

  it("are the relay's if this app does not know the error or its text differs", () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(refused({ status: 409, code: 'new-one', text: 'it is new' }), 'it is new');
    assert.equal(refused({ status: 400, code: 'invalid-ttl', text: 'no, not that' }), 'no, not that');
  });
});

const RULES: readonly (readonly [string, ValueRule])[] = Object.entries({
  ...accessRules,
  ...valueRules,
  DOMAIN_RULE,
  FLAG_RULE,
  FOLDER_RULE,
  KEEP_BODIES_RULE,
  WAIT_RULE,
}).flatMap(([name, value]) =>
  typeof value === 'object' && 'accepted' in value ? [[name, value] as const] : [],
);

describe('accepted values of a setting', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  for (const [name, { accepted }] of RULES)
    it(`are the same in English as ${name} prints them, and available in German`, () => {
      assert.equal(acceptedText(accepted), accepted);
      setLocale({ language: 'de', tag: 'de-DE' });
      assert.notEqual(acceptedText(accepted), accepted);
    });

  it('are shown unchanged if no rule defines them', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(acceptedText('something new'), 'something new');
  });
});
