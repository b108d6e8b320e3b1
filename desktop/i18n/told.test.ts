import assert from 'node:assert/strict';
import { FLAG_RULE } from '../config/tunnel-spec.ts';
import { say, textOf } from '../engine/said/said.ts';
import { SAYINGS } from '../engine/said/sayings.ts';
import { DEFAULT_LOCALE } from './locale.ts';
import { told } from './told.ts';
import { setLocale } from './translate.ts';

describe('what the engine has said', () => {
  const said = say('relay.unreachable', { origin: 'https://relay.test', why: say('network.refused') });
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('is the same in English as the command prints it', () => {
    assert.equal(said.text, 'The relay at https://relay.test cannot be reached: nothing is listening there');
    assert.equal(told(said), said.text);
    assert.equal(told('EWHATEVER'), 'EWHATEVER');
  });

  it('is German to its inmost part', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(told(said), 'Das Relay unter https://relay.test ist nicht erreichbar: dort lauscht nichts');
  });

  it('has lines, and what a rule accepts', () => {
    const value = say('project.empty');
    const both = [say('project.takes', { value, accepted: FLAG_RULE }), 'what a library says'];
    assert.equal(textOf(both), 'is empty; it takes true or false\nwhat a library says');
    assert.equal(told(both), textOf(both));
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(told(both), 'ist leer; erlaubt: true oder false\nwhat a library says');
  });

  it('has a value in each place', () => {
    assert.throws(
      () => say('relay.unreachable', { origin: 'https://relay.test' }),
      /"relay.unreachable" has no why/,
    );
  });

  it('has places that are names alone, which both can fill', () => {
    for (const text of Object.values(SAYINGS)) assert.doesNotMatch(text.replaceAll(/\{\w+\}/g, ''), /[{}]/);
  });
});
