import assert from 'node:assert/strict';
import type { Verdict } from '../../../client/inspector/records.ts';
import { importedWords, signatureMark, signatureTone, signatureWords, writtenText } from './signature.ts';

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
  it('differ for each verdict', () => {
    assert.equal(new Set(VERDICTS.map((verdict) => signatureWords(view(verdict)))).size, VERDICTS.length);
  });

  it('include a mark in the log if a signature was checked', () => {
    const marked = VERDICTS.filter((verdict) => signatureMark(view(verdict)) !== undefined);
    assert.deepEqual(
      marked,
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) !== 'open'),
    );
  });

  it('promise only what is true', () => {
    assert.deepEqual(
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) === 'good'),
      ['valid'],
    );
  });
});

describe('the words about an import', () => {
  it('contain the number of requests', () => {
    assert.deepEqual(importedWords({ ids: [1], leftOut: [], hasRedacted: false }), [
      '1 request was imported.',
    ]);
    assert.deepEqual(importedWords({ ids: [1, 2], leftOut: [], hasRedacted: false }), [
      '2 requests were imported.',
    ]);
  });

  it('contain what was left out, and what is missing in the others', () => {
    const leftOut = Array.from({ length: 7 }, (_, index) => `No ${index}\u202e.`);
    const words = importedWords({ ids: [], leftOut, hasRedacted: true });
    assert.equal(words.length, 8);
    assert.equal(words[1], 'No 0\\u{202e}.');
    assert.deepEqual(words.slice(-2), [
      '2 more were left out.',
      'Some requests contain [redacted] instead of a secret. Choose Edit and send to fill it in.',
    ]);
  });
});

describe('the words about a HAR', () => {
  it('name the file, and what is missing in it', () => {
    const written = { path: '/home/ann/shop.har', count: 1, missing: 0, hidesSecrets: false };
    assert.equal(writtenText(written), 'Saved 1 request to /home/ann/shop.har.');
    assert.equal(
      writtenText({ ...written, count: 2, missing: 3, hidesSecrets: true }),
      'Saved 2 requests to /home/ann/shop.har, without secrets. 3 more are no longer available.',
    );
  });
});
