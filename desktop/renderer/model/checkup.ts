/** What is said of a check of the way to the relay and back: hop by hop, and in the end. */
import type { CheckupView } from '../../shared/snapshot.ts';

/** The hops, in the order in which they are checked. */
const HOP_WORDS: readonly (readonly [hop: string, words: string])[] = [
  ['dns', 'The name of the relay'],
  ['connect', 'A connection to it'],
  ['tls', 'Encryption'],
  ['relay', 'The relay itself'],
  ['key', 'Your key'],
  ['control', 'A tunnel for the check'],
  ['data', 'A request through it'],
  ['address', 'The address of tunnels'],
  ['trunk', 'Connections that visitors share'],
  ['local', 'Your server'],
];
const WORDS = new Map(HOP_WORDS);

/** @param hop its stable name */
export function hopWords(hop: string): string {
  return WORDS.get(hop) ?? hop;
}

/** What is being checked now; `undefined` once it is over. */
export function nextHop({ isRunning, results }: CheckupView): string | undefined {
  return isRunning ? HOP_WORDS[results.length]?.[1] : undefined;
}

/** The result in a sentence. */
export function checkupWords(view: CheckupView): string {
  const failed = view.results.filter(({ result }) => result === 'failed').map(({ hop }) => hopWords(hop));
  const [first] = failed;
  if (first !== undefined) return `It stops at: ${failed.join(', ')}.`;
  if (view.isRunning) return 'Checking each step of the way…';
  return view.results.length === 0 ? 'It could not be checked.' : 'Everything works.';
}
