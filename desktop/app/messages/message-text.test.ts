import assert from 'node:assert/strict';
import * as accessRules from '../../../shared/access.ts';
import { DOMAIN_RULE, readGivenDomain } from '../../../shared/domains.ts';
import {
  ALL_API_ERRORS,
  API_ERRORS,
  ApiError,
  type ApiErrorEntry,
  withValues,
} from '../../../shared/errors.ts';
import * as headerRules from '../../../shared/header-changes.ts';
import { readKnockAnswer } from '../../../shared/knocks.ts';
import { readCreateLink } from '../../../shared/links.ts';
import { AWAY_RULE } from '../../../shared/names.ts';
import * as valueRules from '../../../shared/value-rules.ts';
import type { ValueRule } from '../../../shared/value-rules.ts';
import {
  FLAG_RULE,
  FOLDER_RULE,
  HOSTS_RULE,
  KEEP_BODIES_RULE,
  PROTOCOL_RULE,
  WAIT_RULE,
} from '../../client/config/tunnel-spec.ts';
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

const refused = ({ status, code, text, values }: ApiErrorEntry): string =>
  translateMessage(new RelayRefusal(status, text, { code, values }).said);

/** The error that a request gets. */
function errorOf(read: () => unknown): ApiErrorEntry {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    const { status, values } = error;
    const { code, error: text } = error.body;
    return { status, code, text, ...(values && { values }) };
  }
  assert.fail('it is accepted');
}

describe('the words of a refusal', () => {
  beforeEach(() => setLocale({ language: 'de', tag: 'de-DE' }));
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it("are the relay's own in English, for every error it has", () => {
    setLocale(DEFAULT_LOCALE);
    for (const error of ALL_API_ERRORS) assert.equal(refused(error), error.text);
  });

  it('are German for every error, and for no other code', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => `refusal.${code}`);
    const german = Object.keys(DE).filter((key) => key.startsWith('refusal.'));
    assert.deepEqual(german.toSorted(), codes.toSorted());
  });

  const errors: readonly (readonly [error: ApiErrorEntry, german: RegExp])[] = [
    [withValues(API_ERRORS.ttlTooLong, { duration: '24h' }), /höchstens 24h/],
    [
      withValues(API_ERRORS.tooManyTunnels, {
        plan: 'Free',
        number: 2,
        tunnels: { code: 'any', text: 'tunnels' },
        remedy: { code: 'wait', text: 'wait', values: { time: '2026-03-01T10:00:00Z' } },
      }),
      /Tarif Free erlaubt 2 Tunnel zugleich.*warten Sie bis \d+\. \p{L}+ 2026, \d\d:\d\d/u,
    ],
    [withValues(API_ERRORS.keyOutOfScope, { scope: 'tunnels' }), /nur für Tunnel$/],
    [
      withValues(API_ERRORS.keyOutOfScope, {
        scope: { code: 'tunnel', text: 'the tunnel "web"', values: { name: 'web' } },
      }),
      /nur für den Tunnel „web“$/,
    ],
    [withValues(API_ERRORS.agentName, { prefix: 'ai-' }), /„ai-“ beginnen/],
    [withValues(API_ERRORS.noSuch, { kind: 'key', name: 'x' }), /Schlüssel gibt es nicht/],
    [withValues(API_ERRORS.accountSuspended, { reason: '{plan} <b>' }), /gesperrt: \{plan\} <b>$/],
    [withValues(API_ERRORS.tooManyDomains, { plan: 'Dev', number: 5 }), /Dev erlaubt 5 Domains/],
    [errorOf(() => readKnockAnswer({})), /„admit“ muss/],
    [errorOf(() => readKnockAnswer({ admit: true, for: '' })), /zwischen 1s und 720h/],
    [errorOf(() => readCreateLink({ note: '\0' })), /Notiz/],
    [errorOf(() => readCreateLink({ path: 'x' })), /Pfad/],
    [errorOf(() => accessRules.readAccess([])), /Objekt/],
    [errorOf(() => accessRules.readAccess({ pasword: 'x' })), /„pasword“/],
    [errorOf(() => accessRules.readAccess({ links: 1 })), /„links“ muss/],
    ...['allow', 'basic', 'tokens', 'sign_in', 'password'].map(
      (field) => [errorOf(() => accessRules.readAccess({ [field]: 'x' })), /braucht|muss/] as const,
    ),
    ...[
      'https://a.example',
      '192.0.2.7',
      'a.example:80',
      'a.*.example',
      'a b',
      'localhost',
      `a.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(60)}`,
      7,
    ].map((domain) => [errorOf(() => readGivenDomain(domain)), /die Domain (?:muss|darf|braucht)/] as const),
  ];
  for (const [error, german] of errors)
    it(`are German for "${error.text.slice(0, 60)}"`, () => {
      assert.match(refused(error), german);
      assert.notEqual(refused(error), error.text);
    });

  it('are German inside a message of the engine', () => {
    const { status, code, text } = API_ERRORS.rateLimited;
    const { why } = judge({ kind: 'refused', refusal: new RelayRefusal(status, text, { code }) });
    assert.equal(translateMessage(why), 'Das Relay hat vorerst abgelehnt: das waren zu viele Anfragen.');
  });

  const { status, code } = API_ERRORS.tooManyTunnels;
  const english: readonly (readonly [what: string, error: ApiErrorEntry])[] = [
    ['this app does not know the error', { status: 409, code: 'new-one', text: 'it is new' }],
    ['a relay sends no values', { status, code, text: 'no more' }],
    [
      'a value is no time',
      { status, code, text: 'no more', values: { plan: 'Dev', number: 1, time: 'soon' } },
    ],
    [
      'this app does not know a part of it',
      { status: 400, code: 'invalid-domain', text: 'the domain is odd', values: { problem: 'odd' } },
    ],
  ];
  for (const [what, error] of english)
    it(`are the relay's own if ${what}`, () => assert.equal(refused(error), error.text));
});

const RULES: readonly (readonly [string, ValueRule])[] = Object.entries({
  ...accessRules,
  ...headerRules,
  ...valueRules,
  AWAY_RULE,
  DOMAIN_RULE,
  FLAG_RULE,
  FOLDER_RULE,
  HOSTS_RULE,
  KEEP_BODIES_RULE,
  PROTOCOL_RULE,
  WAIT_RULE,
}).flatMap(([name, value]) =>
  typeof value === 'object' && 'accepted' in value ? [[name, value] as const] : [],
);

describe('accepted values of a setting', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  for (const [name, rule] of RULES)
    it(`are the same in English as ${name} prints them, and available in German`, () => {
      assert.equal(acceptedText(rule), rule.accepted);
      setLocale({ language: 'de', tag: 'de-DE' });
      assert.notEqual(acceptedText(rule), rule.accepted);
    });

  it('are those of one rule for each code', () => {
    const codes = RULES.map(([, { code }]) => `accepted.${code}`);
    const german = Object.keys(DE).filter((key) => key.startsWith('accepted.'));
    assert.deepEqual(german.toSorted(), codes.toSorted());
  });
});
