import assert from 'node:assert/strict';
import * as accessRules from '../../shared/access-rules.ts';
import { DOMAIN_RULE } from '../../shared/domain-rules.ts';
import * as valueRules from '../../shared/value-rules.ts';
import type { ValueRule } from '../../shared/value-rules.ts';
import { FLAG_RULE, FOLDER_RULE, WAIT_RULE } from '../config/tunnel-spec.ts';
import { acceptedText } from './accepted-text.ts';
import { DEFAULT_LOCALE } from './locale.ts';
import { setLocale } from './translate.ts';

const RULES: readonly (readonly [string, ValueRule])[] = Object.entries({
  ...accessRules,
  ...valueRules,
  DOMAIN_RULE,
  FLAG_RULE,
  FOLDER_RULE,
  WAIT_RULE,
}).flatMap(([name, value]) => (typeof value === 'object' ? [[name, value] as const] : []));

describe('what a setting may be', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  for (const [name, { accepted }] of RULES)
    it(`is the same in English as ${name} says, and German`, () => {
      assert.equal(acceptedText(accepted), accepted);
      setLocale({ language: 'de', tag: 'de-DE' });
      assert.notEqual(acceptedText(accepted), accepted);
    });

  it("is somebody else's words where no rule says it", () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(acceptedText('something new'), 'something new');
  });
});
