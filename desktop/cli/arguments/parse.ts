/** Splits a command line into options and operands, and reads the values of options. */
import { parseArgs } from 'node:util';
import { nearest } from '../../../shared/nearest.ts';
import type { ValueRule } from '../../../shared/value-rules.ts';
import { OPTION_TABLE, type OptionName } from '../options.ts';
import { UsageError } from '../usage-error.ts';
import { optionHint, translateOptions } from './foreign-words.ts';

export type Values = ReturnType<typeof parse>['values'];

/** @throws UsageError for an option that does not exist, or lacks its value */
export function parse(args: readonly string[]) {
  const { others, isBare } = takeBarePassword(translateOptions(args));
  try {
    const { values, positionals } = parseArgs({
      args: others,
      options: OPTION_TABLE,
      allowPositionals: true,
    });
    if (isBare && values.password !== undefined) throw new Error('--password is given twice');
    const bare: { password?: string | true } = isBare ? { password: true } : {};
    return { values: { ...values, ...bare }, positionals };
  } catch (error) {
    // The first sentence names the option; the rest explains the parser.
    const text = (error instanceof Error ? error.message : String(error)).split('. ', 1)[0] ?? '';
    const unknown = /^Unknown option '--([^']*)'/.exec(text)?.[1] ?? '';
    const hint = optionHint(unknown);
    if (hint !== undefined) throw new UsageError(`There is no --${unknown}: ${hint}`);
    const meant = nearest(unknown, Object.keys(OPTION_TABLE));
    throw new UsageError(meant === undefined ? `${text}.` : `${text}. Did you mean --${meant}?`);
  }
}

/** Node's parser has no options whose value may be missing, as that of `--password` may. */
function takeBarePassword(args: readonly string[]): { others: string[]; isBare: boolean } {
  const end = args.indexOf('--');
  const isBarePassword = (argument: string, index: number): boolean =>
    argument === '--password' && (end === -1 || index < end) && (args[index + 1]?.startsWith('-') ?? true);
  const others = args.filter((argument, index) => !isBarePassword(argument, index));
  return { others, isBare: others.length < args.length };
}

/** @throws UsageError for a value that the rule does not accept */
export function readOption(name: OptionName, text: string, rule: ValueRule): string;
export function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined;
export function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined {
  if (text === undefined || rule.accepts(text)) return text;
  throw new UsageError(`--${name} "${text}": it takes ${rule.accepted}.`);
}

/** @throws UsageError for what is not a number, or one that the rule does not accept */
export function readSeconds(name: OptionName, text: string | undefined, rule: ValueRule): number | undefined {
  const seconds = text === undefined || /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  readOption(name, text, { ...rule, accepts: () => rule.accepts(seconds) });
  return text === undefined ? undefined : seconds;
}
