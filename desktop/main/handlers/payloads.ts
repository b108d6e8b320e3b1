/**
 * What each channel takes: the page's input is checked like any other caller's. A channel without an entry does not compile.
 */
import * as yup from 'yup';
import { LINK_NOTE_MAX_LENGTH } from '../../../shared/links.ts';
import type { Channels } from '../../shared/ipc.ts';
import {
  KEY_MAX_CHARS,
  RELAY_ID_MAX_CHARS,
  RELAY_MAX_CHARS,
  SEARCH_MAX_CHARS,
  TUNNEL_KEY_MAX_CHARS,
} from '../limits.ts';
import { settingsSchema } from '../settings/settings-schema.ts';
import { createFormSchema, ttlSchema } from '../tunnels/create-form-schema.ts';
import { lockSchema } from '../tunnels/lock-schema.ts';

/** Throws for a value that does not fit; a value that it accepts has the channel's type. */
export type PayloadSchema<T> = yup.Schema<T>;

const nothing = yup
  .mixed()
  .test('nothing', 'This takes nothing.', (value) => value === undefined) as yup.Schema<undefined>;
const key = yup.string().max(TUNNEL_KEY_MAX_CHARS).required();
const ref = exact({ key });
const relayId = yup.string().max(RELAY_ID_MAX_CHARS).required();
const someTtl = ttlSchema.required('Give a time such as 30m, 4h or 1h30m.');
const request = exact({ key, id: yup.number().integer().min(1).required() });

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
  'tunnel:create': createFormSchema,
  'tunnel:stop': ref,
  'tunnel:start': ref,
  'tunnel:forget': ref,
  'tunnel:extend': exact({ key, ttl: someTtl }),
  'tunnel:copy-url': ref,
  'tunnel:open-url': ref,
  'tunnel:copy-share': ref,
  'lock:invent': nothing,
  'lock:set': exact({ key, lock: lockSchema }),
  'link:create': exact({
    key,
    note: yup
      .string()
      .defined()
      .max(LINK_NOTE_MAX_LENGTH, `A note has at most ${LINK_NOTE_MAX_LENGTH} characters.`),
    ttl: someTtl,
  }),
  'link:list': ref,
  'link:revoke': exact({ key, id: relayId }),
  'knock:admitted': ref,
  'knock:admit': exact({ key, id: relayId, ttl: someTtl }),
  'knock:refuse': exact({ key, id: relayId }),
  'log:list': exact({ key, search: yup.string().defined().max(SEARCH_MAX_CHARS) }),
  'log:detail': request,
  'log:copy-curl': request,
  'log:replay': request,
  'log:clear': ref,
  'settings:change': settingsSchema,
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
