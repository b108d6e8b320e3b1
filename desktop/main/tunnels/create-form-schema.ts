/** What the create form may hold. */
import * as yup from 'yup';
import { DURATION_PATTERN } from '../../../shared/duration.ts';
import { LOCAL_PORT_MAX, LOCAL_PORT_MIN, NAME_PATTERN } from '../../../shared/tunnel.ts';
import type { CreateForm } from '../../shared/ipc.ts';
import { HOST_HEADER_MAX_CHARS, TTL_MAX_CHARS } from '../limits.ts';

/** A lifetime, or nothing for the relay's default. */
export const ttlSchema = yup.string().max(TTL_MAX_CHARS).matches(DURATION_PATTERN, {
  message: 'Give a time such as 30m, 4h or 1h30m.',
  excludeEmptyString: true,
});

export const createFormSchema: yup.ObjectSchema<CreateForm> = yup
  .object({
    port: yup
      .number()
      .typeError('Give a port from 1 to 65535.')
      .test('port', 'Give a port from 1 to 65535.', (value) => isPort(value))
      .required('Give a port from 1 to 65535.'),
    name: yup.string().defined().matches(NAME_PATTERN, {
      message: 'Use 2 to 63 lowercase letters, digits and hyphens, without a hyphen at either end.',
      excludeEmptyString: true,
    }),
    ttl: ttlSchema.defined(),
    idle: yup.boolean().required(),
    hostHeader: yup
      .string()
      .required()
      .matches(/^[A-Za-z0-9._\-:[\]]+$/, 'Give a host name, such as app.local or app.local:3000.')
      .max(HOST_HEADER_MAX_CHARS),
  })
  .strict()
  .noUnknown()
  .required();

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= LOCAL_PORT_MIN && Number(value) <= LOCAL_PORT_MAX;
}
