import assert from 'node:assert/strict';
import { chooseLocale, currentLocale, DEFAULT_LOCALE, setLocale, t, tagged } from './translate.ts';

const bold = (inside: unknown[]): { readonly bold: unknown[] } => ({ bold: inside });

describe('the language of the app', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('is the first available one of the system, with its region', () => {
    assert.deepEqual(chooseLocale('system', ['fr-FR', 'de-AT', 'en-GB']), { language: 'de', tag: 'de-AT' });
    assert.deepEqual(chooseLocale('system', ['fr', 'not a tag', '']), DEFAULT_LOCALE);
    assert.deepEqual(chooseLocale('system', []), DEFAULT_LOCALE);
  });

  it('is the chosen one, with a region known from the system', () => {
    assert.deepEqual(chooseLocale('en', ['de-DE', 'en-GB']), { language: 'en', tag: 'en-GB' });
    assert.deepEqual(chooseLocale('de', ['en-GB']), { language: 'de', tag: 'de' });
  });

  it('applies to all texts until it changes', () => {
    assert.equal(t('settings.title'), 'Settings');
    setLocale({ language: 'de', tag: 'de-AT' });
    assert.equal(t('settings.title'), 'Einstellungen');
    assert.equal(t('settings.account.nameAndPlan', { name: 'acme', plan: 'Dev' }), 'acme, Tarif Dev');
    assert.deepEqual(currentLocale(), { language: 'de', tag: 'de-AT' });
  });

  it('replaces tags as told, and does not interpret tags in values', () => {
    const parts = tagged('drop.question', { name: '<b>a</b>' }, { b: bold });
    assert.deepEqual(parts, ['Share the folder ', { bold: ['<b>a</b>'] }, '?']);
  });

  it('reports a missing value', () => {
    assert.throws(() => t('settings.account.nameAndPlan', { name: 'acme' }), /plan/);
  });
});
