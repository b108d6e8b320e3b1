/** Slugs of tunnels that asked for no name (docs/protocol.md section 3.3): random, readable aloud, a DNS label. */
import { randomInt } from 'node:crypto';

/** Letters that sound different in most languages, and each always the same. */
const CONSONANTS = 'bdfghjklmnprstvz';
const VOWELS = 'aeiou';
const SYLLABLES = CONSONANTS.length * VOWELS.length;
const GROUPS = 4;
const SYLLABLES_PER_GROUP = 2;

/** 8 syllables out of 80: log2(80 ** 8) = 50.57 bits. */
export const SLUG_BITS = GROUPS * SYLLABLES_PER_GROUP * Math.log2(SYLLABLES);

/**
 * @param draw gives a random integer from 0 to below its argument, each as likely as the others
 * @returns a slug such as `bado-kire-numa-tosi`
 */
export function randomSlug(draw: (below: number) => number = randomInt): string {
  const group = () => Array.from({ length: SYLLABLES_PER_GROUP }, () => syllable(draw(SYLLABLES))).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

function syllable(index: number): string {
  const vowel = index % VOWELS.length;
  return CONSONANTS.charAt((index - vowel) / VOWELS.length) + VOWELS.charAt(vowel);
}
