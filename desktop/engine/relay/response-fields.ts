/** The schemas that a relay's responses are checked with. */
import * as yup from 'yup';
import { parseDuration } from '../../../shared/duration.ts';
import { hasUnprintable } from '../../../shared/unprintable.ts';
import { say } from '../said/said.ts';
import { RelayUnreachable } from './errors.ts';
import { isWebAddress } from './web-address.ts';

/** Nothing that could move a cursor, hide text or turn it around may reach a terminal or a window, nor half a character an address. */
export const printable = yup
  .string()
  .test(
    'printable',
    (value) => typeof value !== 'string' || (value.isWellFormed() && !hasUnprintable(value)),
  );
export const text = printable.required();
/** Printed, copied and opened in a browser. */
export const address = yup
  .string()
  .required()
  .test('address', (value) => typeof value !== 'string' || isWebAddress(value));
/** A moment that is counted with. */
export const time = text.test('time', (value) => !Number.isNaN(Date.parse(value)));
/** A duration string (docs/protocol.md section 3.4), which timers are set by. */
export const duration = text.test('duration', (value) => Number.isFinite(parseDuration(value)));
export const count = yup.number().integer().min(0).required();

/** @throws RelayUnreachable, which names the field, when the schema does not accept the value */
export function check(schema: yup.Schema, value: unknown): unknown {
  try {
    schema.validateSync(value);
    return value;
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    const { path = '' } = error;
    throw new RelayUnreachable(
      path === '' ? say('relay.notUnderstood') : say('relay.badField', { field: path }),
    );
  }
}
