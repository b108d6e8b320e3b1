/** The one wrapper around every handler: the caller and its input are checked here and nowhere else. */
import * as yup from 'yup';
import { readDomain } from '../../../../shared/domains.ts';
import { LINK_NOTE_MAX_LENGTH } from '../../../../shared/links.ts';
import { CONFIG_TUNNELS_MAX, LABEL_MAX_LENGTH } from '../../../client/config/config-limits.ts';
import { EDITED_FIELDS_MAX } from '../../../client/limits.ts';
import { WEBHOOK_PROVIDER_IDS } from '../../../client/webhooks/provider.ts';
import { DROPPED_PATHS_MAX } from '../../ipc/channels.ts';
import type { Answer, CallError, Channels } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import { toCallError } from '../failure.ts';
import {
  COPIED_TEXT_MAX_CHARS,
  DOMAIN_TEXT_MAX_CHARS,
  EDIT_TEXT_MAX_CHARS,
  IMPORT_TEXT_MAX_CHARS,
  INVITATION_MAX_CHARS,
  KEY_MAX_CHARS,
  LOG_PART_NAME_MAX_CHARS,
  LOG_REQUESTS_MAX,
  OWN_ID_MAX_CHARS,
  PATH_MAX_CHARS,
  RELAY_ID_MAX_CHARS,
  RELAY_MAX_CHARS,
  SEARCH_MAX_CHARS,
  SET_NAME_MAX_CHARS,
  SIGNING_SECRET_ID_MAX_CHARS,
  SIGNING_SECRET_MAX_CHARS,
  TUNNEL_KEY_MAX_CHARS,
} from '../limits.ts';
import { settingsSchema } from '../settings/app-data.ts';
import { createFormSchema, accessSchema, ttlSchema } from '../tunnels/create-form-schema.ts';

/** What a channel does. A handler may throw {@link CallFailure} or what the engine throws. */
export type Handler<C extends keyof Channels> = (
  payload: Channels[C]['payload'],
) => Channels[C]['result'] | Promise<Channels[C]['result']>;

/** One for each channel. */
export type Handlers = { readonly [C in keyof Channels]: Handler<C> };

/** @param isPage whether the main frame of the app's own window called */
export type CheckedHandler<C extends keyof Channels> = (
  isPage: boolean,
  payload: unknown,
) => Promise<Answer<Channels[C]['result']>>;

/**
 * @param reportBug told of what is neither a known failure nor bad input
 * @returns a handler that never rejects: an error is part of its result
 */
export function handle<C extends keyof Channels>(
  channel: C,
  schema: PayloadSchema<Channels[C]['payload']>,
  fn: Handler<C>,
  reportBug: (channel: string, error: unknown) => void,
): CheckedHandler<C> {
  return async (isPage, payload) => {
    if (!isPage) return refuse({ code: 'foreign-sender', text: t('problem.ownWindow') });
    try {
      return { ok: true, value: await fn(schema.validateSync(payload)) };
    } catch (error) {
      if (error instanceof yup.ValidationError) return refuse(badPayload(error));
      const known = toCallError(error);
      if (known !== undefined) return refuse(known);
      reportBug(channel, error);
      return refuse({ code: 'internal', text: t('problem.wrong') });
    }
  };
}

function badPayload({ path, message }: yup.ValidationError): CallError {
  return {
    code: 'bad-payload',
    text: message,
    ...(path === undefined || path === '' ? {} : { field: path }),
  };
}

function refuse(error: CallError): { ok: false; error: CallError } {
  return { ok: false, error };
}

/*
 * What each channel takes: the page's input is checked like any other caller's. A channel without an entry does not compile.
 */

/** Throws for a value that does not fit; a value that it accepts has the channel's type. */
export type PayloadSchema<T> = yup.Schema<T>;

const nothing = yup.mixed().test(
  'nothing',
  () => t('problem.takesNothing'),
  (value) => value === undefined,
) as yup.Schema<undefined>;
const key = yup.string().max(TUNNEL_KEY_MAX_CHARS).required();
const ownId = yup.string().max(OWN_ID_MAX_CHARS).required();
const keep = yup
  .string()
  .oneOf(['system', 'file', 'session'] as const)
  .required();
const ref = exact({ key });
const relayId = yup.string().max(RELAY_ID_MAX_CHARS).required();
const someTtl = ttlSchema.required(() => t('problem.time'));
const count = yup.number().integer().min(0).required();
const requestId = yup.number().integer().min(1).required();
const request = exact({ key, id: requestId });
const shownRequest = exact({ key, id: requestId, reveal: yup.boolean().required() });

const setName = yup
  .string()
  .defined()
  .max(SET_NAME_MAX_CHARS, () => t('problem.setLongName', { max: SET_NAME_MAX_CHARS }));

/** What is wrong with it is said where it is; here it is only kept from being anything else, or endless. */
const editText = yup.string().defined().max(EDIT_TEXT_MAX_CHARS);
const editForm = exact({
  method: editText,
  target: editText,
  fields: yup
    .array(yup.tuple([editText, editText]).required())
    .max(EDITED_FIELDS_MAX, () => t('problem.tooManyHeaders', { max: EDITED_FIELDS_MAX }))
    .required(),
  body: editText.nullable(),
  signs: yup.boolean().required(),
});

export const PAYLOADS: { readonly [C in keyof Channels]: PayloadSchema<Channels[C]['payload']> } = {
  'snapshot:get': nothing,
  'session:sign-in': exact({
    relay: yup
      .string()
      .max(RELAY_MAX_CHARS)
      .required(() => t('problem.giveRelay')),
    key: yup
      .string()
      .max(KEY_MAX_CHARS)
      .required(() => t('problem.giveKey')),
    keep,
  }),
  'session:cancel': nothing,
  'session:sign-out': nothing,
  'invitation:open': exact({ address: yup.string().max(INVITATION_MAX_CHARS).required() }),
  'invitation:accept': exact({ id: ownId, keep }),
  'invitation:dismiss': exact({ id: ownId }),
  'tunnel:create': createFormSchema,
  'folder:drop': exact({
    paths: yup.array(yup.string().defined().max(PATH_MAX_CHARS)).max(DROPPED_PATHS_MAX).required(),
  }),
  'folder:share': exact({ id: ownId }),
  'folder:dismiss': exact({ id: ownId }),
  'folder:choose': nothing,
  'project:choose': nothing,
  'project:open': exact({ id: ownId }),
  'project:reopen': exact({ folder: yup.string().max(PATH_MAX_CHARS).required() }),
  'project:start': exact({
    id: ownId,
    labels: yup
      .array(yup.string().max(LABEL_MAX_LENGTH).required())
      .min(1)
      .max(CONFIG_TUNNELS_MAX)
      .required(),
  }),
  'project:dismiss': exact({ id: ownId }),
  'tunnel:stop': ref,
  'tunnel:start': ref,
  'tunnel:forget': ref,
  'tunnel:extend': exact({ key, ttl: someTtl }),
  'tunnel:copy-url': ref,
  'tunnel:open-url': ref,
  'tunnel:copy-share': ref,
  'lock:invent': nothing,
  'lock:set': exact({ key, lock: accessSchema }),
  'link:create': exact({
    key,
    note: yup
      .string()
      .defined()
      .max(LINK_NOTE_MAX_LENGTH, () => t('problem.longNote', { max: LINK_NOTE_MAX_LENGTH })),
    ttl: someTtl,
  }),
  'link:list': ref,
  'link:revoke': exact({ key, id: relayId }),
  'domain:list': nothing,
  'domain:add': exact({
    domain: yup
      .string()
      .max(DOMAIN_TEXT_MAX_CHARS)
      .required(() => t('problem.giveDomain'))
      .test('domain', (value, context) => {
        const reading = readDomain(value);
        return (
          'name' in reading ||
          context.createError({ message: t('problem.badDomain', { problem: reading.problem }) })
        );
      }),
  }),
  'domain:check': exact({ id: relayId }),
  'domain:remove': exact({ id: relayId }),
  'knock:admitted': ref,
  'knock:admit': exact({ key, id: relayId, ttl: someTtl }),
  'knock:refuse': exact({ key, id: relayId }),
  'text:copy': exact({ text: yup.string().max(COPIED_TEXT_MAX_CHARS).required() }),
  'log:changes': exact({ key, since: exact({ epoch: count, revision: count }) }),
  'log:view': exact({
    key,
    part: yup.string().required().max(LOG_PART_NAME_MAX_CHARS),
    search: yup.string().defined().max(SEARCH_MAX_CHARS),
  }),
  'log:detail': shownRequest,
  'log:copy-curl': shownRequest,
  'log:export': exact({
    key,
    ids: yup.array(requestId).min(1).max(LOG_REQUESTS_MAX).required(),
    reveal: yup.boolean().required(),
  }),
  'import:text': exact({
    key,
    text: yup
      .string()
      .max(IMPORT_TEXT_MAX_CHARS)
      .required(() => t('problem.pasteCurl')),
  }),
  'import:file': ref,
  'log:replay': request,
  'bench:open': request,
  'bench:send': exact({ key, id: requestId, edit: editForm }),
  'set:list': nothing,
  'set:create': exact({ key, id: requestId, name: setName }),
  'set:add': exact({ key, id: requestId, set: ownId }),
  'set:rename': exact({ set: ownId, name: setName }),
  'set:remove': exact({ set: ownId }),
  'set:remove-request': exact({ set: ownId, request: ownId }),
  'set:open': exact({ key, set: ownId, request: ownId }),
  'set:send': exact({ key, set: ownId, request: ownId }),
  'log:clear': ref,
  'signature:look': request,
  'signature:add-secret': exact({
    key,
    provider: yup.string().oneOf(WEBHOOK_PROVIDER_IDS).required(),
    secret: yup
      .string()
      .max(SIGNING_SECRET_MAX_CHARS)
      .required(() => t('problem.pasteSecret')),
  }),
  'signature:remove-secret': exact({ key, id: yup.string().max(SIGNING_SECRET_ID_MAX_CHARS).required() }),
  'signature:replay': request,
  'relay:try': nothing,
  'checkup:start': exact({ key: yup.string().max(TUNNEL_KEY_MAX_CHARS) }),
  'checkup:stop': nothing,
  'undo:take': exact({ id: ownId }),
  'settings:change': settingsSchema,
  'app:about': nothing,
  'app:open-link': exact({
    link: yup
      .string()
      .oneOf(['documentation', 'source', 'releases'] as const)
      .required(),
  }),
  'app:update': nothing,
  'app:quit': nothing,
};

function exact<T extends yup.ObjectShape>(shape: T) {
  return yup.object(shape).strict().noUnknown().required();
}
