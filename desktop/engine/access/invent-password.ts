import { randomInt } from 'node:crypto';
import { WORDS } from './words.ts';

const WORDS_PER_PASSWORD = 3;

/**
 * A password that can be read aloud and typed on a telephone: three words out of {@link WORDS}, at least 30 bits, which is
 * enough where the relay takes 10 wrong tries a minute from an address (docs/protocol.md section 11).
 *
 * @param draw gives a random integer from 0 to below its argument, each as likely as the others
 * @returns a password such as `mild-oak-fern`
 */
export function inventPassword(draw: (below: number) => number = randomInt): string {
  return Array.from({ length: WORDS_PER_PASSWORD }, () => WORDS[draw(WORDS.length)]).join('-');
}
