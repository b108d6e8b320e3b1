import assert from 'node:assert/strict';
import type { Verdict } from '../../engine/webhooks/verdict.ts';
import { signatureMark, signatureTone, signatureWords } from './signature.ts';

const VERDICTS: readonly Verdict[] = [
  'valid',
  'mismatch',
  'body-changed',
  'too-old',
  'too-new',
  'malformed',
  'unsigned',
  'no-secret',
  'body-cut',
];
const view = (verdict: Verdict) => ({ provider: 'stripe', verdict }) as const;

describe('words about a signature', () => {
  it('are different for each verdict', () => {
    assert.equal(new Set(VERDICTS.map((verdict) => signatureWords(view(verdict)))).size, VERDICTS.length);
  });

  it('have a mark in the log where something was checked', () => {
    const marked = VERDICTS.filter((verdict) => signatureMark(view(verdict)) !== undefined);
    assert.deepEqual(
      marked,
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) !== 'open'),
    );
  });

  it('promise nothing but what is valid', () => {
    assert.deepEqual(
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) === 'good'),
      ['valid'],
    );
  });
});
