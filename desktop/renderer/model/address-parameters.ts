/** The query of an address, decoded. */
import { escapeUnprintable } from '../../../shared/unprintable.ts';

/** More than this nobody reads as a table. */
const MOST_PARAMETERS = 200;

export interface AddressParameters {
  /** in order, names as often as they occur */
  readonly shown: readonly (readonly [name: string, value: string])[];
  /** how many are left out */
  readonly more: number;
}

/**
 * Reads the parameters in the start line of a message as `application/x-www-form-urlencoded` (WHATWG URL, section 5.1), with
 * nothing in them that hides or turns around the rest. A line without a query, such as that of a response, has none.
 */
export function addressParameters(startLine: string): AddressParameters {
  const target = startLine.split(' ')[1] ?? '';
  const at = target.indexOf('?');
  const all = at < 0 ? [] : [...new URLSearchParams(target.slice(at + 1))];
  return {
    shown: all
      .slice(0, MOST_PARAMETERS)
      .map(([name, value]) => [escapeUnprintable(name), escapeUnprintable(value)]),
    more: Math.max(0, all.length - MOST_PARAMETERS),
  };
}
