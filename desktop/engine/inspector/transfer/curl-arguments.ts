/** The words of a `curl` command, read in its order of options and their values. */
import { type CurlFlag, type CurlOption, FLAGS, VALUED } from './curl-options.ts';
import { say } from '../../said/said.ts';
import type { SayingCode } from '../../said/sayings.ts';
import { ImportRefused } from './imported.ts';

export interface CurlArguments {
  /** in the order in which they were given; addresses are `url` */
  readonly values: readonly (readonly [option: CurlOption, value: string])[];
  readonly flags: ReadonlySet<CurlFlag>;
}

/**
 * @param words what follows `curl`
 * @throws ImportRefused for an option that is not known, or has no value
 */
export function readCurlArguments(words: readonly string[]): CurlArguments {
  const values: (readonly [CurlOption, string])[] = [];
  const flags = new Set<CurlFlag>();
  let areOptionsOver = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (areOptionsOver || !word.startsWith('-') || word === '-') values.push(['url', word]);
    else if (word === '--') areOptionsOver = true;
    else if (word.startsWith('--')) readOption(word, undefined);
    else readShort(word);

    /** Several short options may share a word, and the last one its value. */
    function readShort(letters: string): void {
      for (let index = 1; index < letters.length; index++) {
        const rest = letters.slice(index + 1);
        if (readOption(`-${letters.charAt(index)}`, rest === '' ? undefined : rest)) return;
      }
    }

    /** @returns whether it had a value */
    function readOption(name: string, attached: string | undefined): boolean {
      const flag = FLAGS.get(name);
      if (flag !== undefined) {
        flags.add(flag);
        return false;
      }
      const option = VALUED.get(name);
      if (option === undefined) throw new ImportRefused(say(notTaken(name), { option: name }));
      if (attached === undefined) at += 1;
      const value = attached ?? words[at];
      if (value === undefined) throw new ImportRefused(say('import.noValue', { option: name }));
      values.push([option, value]);
      return true;
    }
  }
  return { values, flags };
}

function notTaken(name: string): SayingCode {
  if (/^(?:-F|--form|--form-string)$/.test(name)) return 'import.optionForm';
  if (/^(?:-T|--upload-file|-K|--config)$/.test(name)) return 'import.optionReads';
  return name === '--next' || name === '-:' ? 'import.optionNext' : 'import.option';
}
