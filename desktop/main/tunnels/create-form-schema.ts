/** What the create form may contain. */
import * as yup from 'yup';
import { acceptedText } from '../../i18n/accepted-text.ts';
import { t } from '../../i18n/translate.ts';
import { DOMAIN_RULE } from '../../../shared/domain-rules.ts';
import {
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
  type ValueRule,
} from '../../../shared/value-rules.ts';
import { WAIT_MAX_SECONDS } from '../../config/limits.ts';
import type { CreateForm, KeptForm } from '../../shared/ipc.ts';
import { TTL_MAX_CHARS } from '../limits.ts';
import { lockSchema } from './lock-schema.ts';

/** A lifetime; empty for the relay's default, if that is allowed. */
export const ttlSchema = ruled(yup.string().max(TTL_MAX_CHARS), TTL_RULE);

const fields = {
  port: ruled(yup.number(), PORT_RULE).required(),
  name: ruled(yup.string(), NAME_RULE).defined(),
  ttl: ttlSchema.defined(),
  idle: yup.boolean().required(),
  hostHeader: ruled(yup.string(), HOST_HEADER_RULE).required(),
  domain: ruled(yup.string(), DOMAIN_RULE),
};

/** What is remembered of it. */
export const tunnelFormSchema: yup.ObjectSchema<KeptForm> = yup
  .object({
    ...fields,
    folder: yup.string(),
    local: yup
      .object({
        host: ruled(yup.string(), LOCAL_HOST_RULE).required(),
        https: yup.boolean().required(),
        waitMs: yup
          .number()
          .min(0)
          .max(WAIT_MAX_SECONDS * 1000)
          .required(),
      })
      .default(undefined),
  })
  .strict()
  .noUnknown()
  .required();

export const createFormSchema: yup.ObjectSchema<CreateForm> = yup
  .object({ ...fields, lock: lockSchema })
  .strict()
  .noUnknown()
  .required();

/** `required` refuses what is missing or empty. */
function ruled<T extends yup.Schema>(schema: T, rule: ValueRule): T {
  return schema.test(
    'rule',
    () => t('problem.give', { accepted: acceptedText(rule.accepted) }),
    (value) => value === undefined || value === '' || rule.accepts(value),
  );
}
