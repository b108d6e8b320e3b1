/** Parts for the schemas of what the page sends. */
import * as yup from 'yup';
import { exact } from '../../../client/methods/method.ts';
import { t } from '../../messages/translate.ts';
import { ttlSchema } from '../tunnels/create-form-schema.ts';

/** Maximum length of a tunnel's internal id in the window's list: a UUID. */
export const TUNNEL_KEY_MAX_CHARS = 64;
/** Maximum length of an id that a relay assigns to a link or an approval request. */
export const RELAY_ID_MAX_CHARS = 64;
/** Maximum length of an id that the app itself generates: a UUID, as undos and invitations have. */
export const OWN_ID_MAX_CHARS = 64;
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

/** The number of a request in the log of its tunnel. */
export const requestId = yup.number().integer().min(1).required();
export const requestRef = exact({ key: tunnelKey, id: requestId });
