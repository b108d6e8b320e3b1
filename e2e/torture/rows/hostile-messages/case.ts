/**
 * A message as an attacker writes it, and what may become of it, by RFC 9112 and the contract. Text is latin1, a character a
 * byte.
 */

/**
 * - `refused`: ambiguous; nothing of it may be passed on
 * - `broken`: its head is fine; nothing after the ambiguous part may be passed on
 * - `passed`: fine, if odd; it has to be passed on
 * - `any`: it may be passed on or refused, as long as all read it alike
 */
export type Fate = 'refused' | 'broken' | 'passed' | 'any';

export interface HostileMessage {
  /** what is tried */
  readonly what: string;
  readonly fate: Fate;
  /** with {@link MAIN}, {@link AFTER} and {@link CANARY} in it */
  readonly text: string;
  /** of the request, for responses */
  readonly method?: string;
}

/** Placeholder for the number of a message; all numbers have as many digits, so that lengths stay right. */
const NUMBER = 'NNNNNN';
/** Marks a message. */
export const MAIN = `m${NUMBER}`;
/** Marks what follows the ambiguous part. */
export const AFTER = `a${NUMBER}`;
/** Marks the message that is hidden in it. */
export const CANARY = `s${NUMBER}`;
/** Where the sender waits a moment before it goes on. */
export const PAUSE = '…';
/** Any mark, with its kind and the number. */
export const MARK = /\b([mas])(\d{6})\b/g;

/** The bytes of a message with its own number. */
export function numbered(text: string, number: number): Buffer {
  return Buffer.from(text.replaceAll(NUMBER, String(number).padStart(NUMBER.length, '0')), 'latin1');
}

/** Leaves out messages with the same text as another one. */
export function distinct(messages: readonly HostileMessage[]): HostileMessage[] {
  return [...new Map(messages.map((each) => [`${each.method ?? ''} ${each.text}`, each])).values()];
}

/** Every control character, including the one above the printable ones. */
export const CONTROLS: readonly string[] = [...Array(32).keys(), 127].map((code) =>
  String.fromCharCode(code),
);

/** A character as shown in reports. */
export function shown(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
