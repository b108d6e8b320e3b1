/** What a lock may contain, by the same rules as the relay's. */
import * as yup from 'yup';
import { acceptedText } from '../../i18n/accepted-text.ts';
import { t } from '../../i18n/translate.ts';
import { ALLOW_MAX } from '../../../shared/access.ts';
import { NETWORK_RULE, PASSWORD_RULE } from '../../../shared/access-rules.ts';
import type { Lock, LockKind } from '../../shared/lock.ts';

const kinds = {
  anyone: exact('anyone', {}),
  password: exact('password', {
    password: yup
      .string()
      .required()
      .test(
        'rule',
        () => t('problem.give', { accepted: acceptedText(PASSWORD_RULE.accepted) }),
        (value) => PASSWORD_RULE.accepts(value),
      ),
  }),
  links: exact('links', {}),
  addresses: exact('addresses', {
    // With no address at all the relay would let everybody in.
    allow: yup
      .array(
        yup
          .string()
          .required()
          .test(
            'rule',
            () => t('problem.give', { accepted: acceptedText(NETWORK_RULE.accepted) }),
            (value) => NETWORK_RULE.accepts(value),
          ),
      )
      .min(1)
      .max(ALLOW_MAX)
      .required(),
  }),
  knock: exact('knock', {}),
} as const satisfies Record<LockKind, yup.Schema>;

export const lockSchema = yup.lazy((value: unknown) => kinds[kindOf(value)]) as unknown as yup.Schema<Lock>;

function exact<K extends LockKind, S extends yup.ObjectShape>(kind: K, shape: S) {
  return yup
    .object({ kind: yup.string().oneOf([kind]).required(), ...shape })
    .strict()
    .noUnknown()
    .required();
}

/** The kind whose fields a value should have; of what is no lock, any. */
function kindOf(value: unknown): LockKind {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? (kind as LockKind) : 'anyone';
}
