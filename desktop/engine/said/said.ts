/**
 * What the engine says to people: in English, as the command prints it, and with its code and values, by which the app says it
 * in its user's language.
 */
import { SAYINGS, type SayingCode } from './sayings.ts';

export interface Said {
  readonly code: SayingCode;
  readonly values: Readonly<Record<string, Sayable | number>>;
  /** in English */
  readonly text: string;
}

/** What a relay has said of a refusal, with the code of the error (docs/protocol.md section 2.2). */
export interface Refused {
  readonly refusal: string;
  /** in English */
  readonly text: string;
}

/** What a rule accepts (shared/value-rules.ts), in English. */
export interface Accepted {
  readonly accepted: string;
}

/** A saying, a relay's words, or text of somebody else, such as the system, which is shown as it is; several are lines. */
export type Sayable = Said | Refused | Accepted | readonly Sayable[] | string;

/** @param values for the places of the saying */
export function say(code: SayingCode, values: Said['values'] = {}): Said {
  const text = SAYINGS[code].replace(/\{(\w+)\}/g, (_place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`"${code}" has no ${name}`);
    return typeof value === 'number' ? String(value) : textOf(value);
  });
  return { code, values, text };
}

/** In English. */
export function textOf(said: Sayable): string {
  if (typeof said === 'string') return said;
  if (isLines(said)) return said.map(textOf).join('\n');
  return 'accepted' in said ? said.accepted : said.text;
}

export function isLines(said: Sayable): said is readonly Sayable[] {
  return Array.isArray(said);
}

/** A failure that is told to people. */
export class SaidError extends Error {
  readonly said: Sayable;

  constructor(said: Sayable, options?: ErrorOptions) {
    super(textOf(said), options);
    this.said = said;
  }
}

/** What an error tells people; the message of one that nothing has been said of. */
export function saidOf(error: unknown): Sayable {
  if (error instanceof SaidError) return error.said;
  return error instanceof Error ? error.message : String(error);
}
