/** What each channel takes: the page is checked like any other caller. A channel without an entry does not compile. */
import * as yup from 'yup';
import { DURATION_PATTERN } from '../../../shared/duration.ts';
import { LOCAL_PORT_MAX, LOCAL_PORT_MIN, NAME_PATTERN } from '../../../shared/tunnel.ts';
import type { Channels } from '../../shared/ipc.ts';
import {
  HOST_HEADER_MAX_CHARS,
  KEY_MAX_CHARS,
  RELAY_MAX_CHARS,
  SEARCH_MAX_CHARS,
  TTL_MAX_CHARS,
  TUNNEL_KEY_MAX_CHARS,
} from '../limits.ts';

/** Throws for a value that does not fit; everything it lets through has the channel's type. */
export type PayloadSchema<T> = yup.Schema<T>;

const nothing = yup
  .mixed()
  .test('nothing', 'This takes nothing.', (value) => value === undefined) as yup.Schema<undefined>;
const key = yup.string().max(TUNNEL_KEY_MAX_CHARS).required();
const ref = exact({ key });
const request = exact({ key, id: yup.number().integer().min(1).required() });
const ttl = yup.string().max(TTL_MAX_CHARS).matches(DURATION_PATTERN, {
  message: 'Give a time such as 30m, 4h or 1h30m.',
  excludeEmptyString: true,
});

const createForm = exact({
  port: yup
    .number()
    .typeError('Give a port from 1 to 65535.')
    .test('port', 'Give a port from 1 to 65535.', (value) => isPort(value))
    .required('Give a port from 1 to 65535.'),
  name: yup.string().defined().matches(NAME_PATTERN, {
    message: 'Use 2 to 63 lowercase letters, digits and hyphens, without a hyphen at either end.',
    excludeEmptyString: true,
  }),
  ttl: ttl.defined(),
  idle: yup.boolean().required(),
  hostHeader: yup
    .string()
    .required()
    .matches(/^[A-Za-z0-9._\-:[\]]+$/, 'Give a host name, such as app.local or app.local:3000.')
    .max(HOST_HEADER_MAX_CHARS),
});

const settings = exact({
  startsAtLogin: yup.boolean(),
  notifies: yup.boolean(),
  theme: yup.string().oneOf(['system', 'light', 'dark'] as const),
  onQuit: yup.string().oneOf(['ask', 'close', 'leave'] as const),
});

export const PAYLOADS: { readonly [C in keyof Channels]: PayloadSchema<Channels[C]['payload']> } = {
  'snapshot:get': nothing,
  'session:sign-in': exact({
    relay: yup.string().max(RELAY_MAX_CHARS).required('Give the address of your relay.'),
    key: yup.string().max(KEY_MAX_CHARS).required('Give an API key. It begins with cvt_.'),
    keep: yup
      .string()
      .oneOf(['system', 'file', 'session'] as const)
      .required(),
  }),
  'session:sign-out': nothing,
  'tunnel:create': createForm,
  'tunnel:stop': ref,
  'tunnel:start': ref,
  'tunnel:forget': ref,
  'tunnel:extend': exact({ key, ttl: ttl.required('Give a time such as 30m, 4h or 1h30m.') }),
  'tunnel:copy-url': ref,
  'tunnel:open-url': ref,
  'log:list': exact({ key, search: yup.string().defined().max(SEARCH_MAX_CHARS) }),
  'log:detail': request,
  'log:copy-curl': request,
  'log:replay': request,
  'log:clear': ref,
  // yup writes "may be missing" as "may be undefined".
  'settings:change': settings as PayloadSchema<Channels['settings:change']['payload']>,
  'app:about': nothing,
  'app:open-link': exact({
    link: yup
      .string()
      .oneOf(['documentation', 'source', 'releases'] as const)
      .required(),
  }),
  'app:quit': nothing,
};

function exact<T extends yup.ObjectShape>(shape: T) {
  return yup.object(shape).strict().noUnknown().required();
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= LOCAL_PORT_MIN && Number(value) <= LOCAL_PORT_MAX;
}
