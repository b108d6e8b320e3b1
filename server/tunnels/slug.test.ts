import assert from 'node:assert/strict';
import { NAME_PATTERN } from '../../shared/constraints.ts';
import { randomSlug, SLUG_BITS } from './slug.ts';

describe('randomSlug', () => {
  it('has at least 50 random bits', () => {
    assert.ok(SLUG_BITS >= 50, `${SLUG_BITS} bits`);
  });

  it('has those bits because each of its 8 draws out of 80 gives another slug', () => {
    const slugs = new Set<string>();
    for (let changed = 0; changed < 8; changed += 1) {
      for (let value = 0; value < 80; value += 1) {
        let draws = 0;
        const slug = randomSlug((below) => {
          assert.equal(below, 80);
          draws += 1;
          return draws - 1 === changed ? value : 0;
        });
        assert.equal(draws, 8);
        slugs.add(slug);
      }
    }
    // 8 times 79 values other than 0, and the one of zeros only.
    assert.equal(slugs.size, 8 * 79 + 1);
  });

  it('reads as four short words', () => {
    for (let i = 0; i < 200; i += 1) {
      const slug = randomSlug();
      assert.match(slug, /^(?:[a-z][aeiou]){2}(?:-(?:[a-z][aeiou]){2}){3}$/);
      assert.match(slug, NAME_PATTERN);
    }
  });
});
