/** The options of a command line, as both programs check them: the sentences of Node's parser change with its version. */
import { nearest } from './help-text.ts';

/** Options by name, for `parseArgs`. */
export type OptionTypes = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string }>
>;

export interface OptionProblem {
  /** a sentence without its full stop */
  readonly text: string;
  /** of an option that does not exist */
  readonly unknown?: string;
  /** a sentence */
  readonly hint?: string;
}

/** What `parseArgs` splits a command line into. */
type Token =
  | {
      readonly kind: 'option';
      readonly name: string;
      readonly rawName: string;
      readonly value?: string | undefined;
      readonly inlineValue?: boolean | undefined;
    }
  | { readonly kind: 'positional' | 'option-terminator' };

/**
 * @param tokens of a parser that is not strict
 * @returns what is wrong with the first option that does not exist, lacks its value or has one too many
 */
export function optionProblem(tokens: readonly Token[], options: OptionTypes): OptionProblem | undefined {
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const type = Object.hasOwn(options, name) ? options[name]?.type : undefined;
    if (type === undefined) {
      const meant = nearest(name, Object.keys(options));
      const text = `Unknown option ${rawName}`;
      return { text, unknown: name, ...(meant !== undefined && { hint: `Did you mean --${meant}?` }) };
    }
    // What begins with a hyphen is more likely the next option.
    const isMissing = value === undefined || (!inlineValue && /^-./s.test(value));
    if (type === 'string' && isMissing) return { text: `--${name} needs a value` };
    if (type === 'boolean' && value !== undefined) return { text: `--${name} takes no value` };
  }
  return undefined;
}
