/** What the answers of a relay are checked with. */
import * as yup from 'yup';
import { RelayUnreachable } from './errors.ts';

/** Nothing that could move a cursor or hide text may reach a terminal or a window. */
export const printable = yup.string().matches(/^\P{Cc}*$/u);
export const text = printable.required();
export const count = yup.number().integer().min(0).required();

/** @throws RelayUnreachable when the schema does not accept the value */
export function check(schema: yup.Schema, value: unknown): unknown {
  if (!schema.isValidSync(value))
    throw new RelayUnreachable('The relay gave an answer that this client does not understand');
  return value;
}
