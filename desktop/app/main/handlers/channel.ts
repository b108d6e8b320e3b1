/** Parts for the schemas of what the page sends. */
import * as yup from 'yup';
import { exact } from '../../../client/methods/method.ts';
import { t } from '../../messages/translate.ts';
import { ttlSchema } from '../tunnels/create-form-schema.ts';
import { EDITED_FIELDS_MAX } from '../../../client/inspector/edit.ts';

/** Maximum length of a tunnel's internal id in the window's list: a UUID. */
export const TUNNEL_KEY_MAX_CHARS = 64;
/** Maximum length of an id that a relay assigns to a link or an approval request. */
export const RELAY_ID_MAX_CHARS = 64;
/** Maximum length of an id that the app itself generates: a UUID, as undos and invitations have. */
export const OWN_ID_MAX_CHARS = 64;
/**
 * Maximum length of each part of an edited request that the window sends: twice the body limit, so that an error
 * can state the real size.
 */
export const EDIT_TEXT_MAX_CHARS = 128 * 1024;

export const nothing = yup.mixed().test(
  'nothing',
  () => t('problem.takesNothing'),
  (value) => value === undefined,
) as yup.Schema<undefined>;

/** The key of a tunnel in the list. */
export const tunnelKey = yup.string().max(TUNNEL_KEY_MAX_CHARS).required();
export const tunnelRef = exact({ key: tunnelKey });
/** An id that main has given. */
export const ownId = yup.string().max(OWN_ID_MAX_CHARS).required();
export const relayId = yup.string().max(RELAY_ID_MAX_CHARS).required();
export const lifetime = ttlSchema.required(() => t('problem.time'));
export const keyKept = yup
  .string()
  .oneOf(['system', 'file', 'session'] as const)
  .required();

export const count = yup.number().integer().min(0).required();
/** The number of a request in the log of its tunnel. */
export const requestId = yup.number().integer().min(1).required();
export const requestRef = exact({ key: tunnelKey, id: requestId });
export const shownRequest = exact({ key: tunnelKey, id: requestId, reveal: yup.boolean().required() });

/** Checks only type and length: the client reports errors in each part. */
const editText = yup.string().defined().max(EDIT_TEXT_MAX_CHARS);
export const editForm = exact({
  method: editText,
  target: editText,
  fields: yup
    .array(yup.tuple([editText, editText]).required())
    .max(EDITED_FIELDS_MAX, () => t('problem.tooManyHeaders', { max: EDITED_FIELDS_MAX }))
    .required(),
  body: editText.nullable(),
  signs: yup.boolean().required(),
});
