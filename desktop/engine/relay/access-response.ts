/** What a relay says about who may come into a tunnel (docs/protocol.md section 11). */
import * as yup from 'yup';
import { type Access, type AccessView, ALLOW_MAX, BASIC_USERS_MAX } from '../../../shared/access.ts';
import { text } from './response-fields.ts';

const isSet = yup.boolean().isTrue().optional();

/** `access` of the tunnel object; a relay that knows none leaves it out. */
export const accessView = yup
  .object({
    allow: yup.array(text).max(ALLOW_MAX).optional(),
    basic: yup.array(text).max(BASIC_USERS_MAX).optional(),
    password: isSet,
    links: isSet,
    knock: isSet,
  })
  .optional()
  .default(undefined);

/** Whether everything that was asked of visitors is asked of them: an older relay ignores what it does not know. */
export function asksVisitorsFor(asked: Access, shown: AccessView): boolean {
  return (
    (asked.allow.length === 0 || (shown.allow?.length ?? 0) > 0) &&
    asked.basic.every(({ user }) => shown.basic?.includes(user)) &&
    (asked.password === undefined || shown.password === true) &&
    (!asked.links || shown.links === true) &&
    (!asked.knock || shown.knock === true)
  );
}

/** The `access` of a request: only what is set. */
export function accessRequest({ allow, basic, password, links, knock }: Access): object {
  return {
    ...(allow.length === 0 ? {} : { allow }),
    ...(basic.length === 0 ? {} : { basic }),
    ...(password === undefined ? {} : { password }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
  };
}
