/** What the create form may contain. */
import * as yup from 'yup';
import { ALLOW_MAX, NETWORK_RULE, PASSWORD_RULE, TOKEN_NAME_RULE } from '../../../../shared/access.ts';
import { DOMAIN_RULE } from '../../../../shared/domains.ts';
import { type HeaderChanges, isHeaderChanges } from '../../../../shared/header-changes.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import {
  COMPRESS_RULE,
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
  type Upstream,
  UPSTREAM_RULE,
  type ValueRule,
} from '../../../../shared/value-rules.ts';
import { type HostPorts, HOSTS_RULE } from '../../../client/config/tunnel-spec.ts';
import { WAIT_MAX_SECONDS } from '../../../client/limits.ts';
import type { CreateForm, KeptForm } from '../../ipc/ipc.ts';
import type { LogView } from '../../ipc/request-views.ts';
import type { TunnelAccess, AccessKind } from '../../ipc/tunnel-views.ts';
import { acceptedText } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';
import { TTL_MAX_CHARS } from '../limits.ts';

/* Valid access policies, by the same rules as the relay's. */

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
  tokens: exact('tokens', { name: tokenName() }),
} as const satisfies Record<AccessKind, yup.Schema>;

export const accessSchema = yup.lazy(
  (value: unknown) => kinds[kindOf(value)],
) as unknown as yup.Schema<TunnelAccess>;

export function tokenName(): yup.StringSchema<string> {
  return yup
    .string()
    .required()
    .test(
      'rule',
      () => t('problem.give', { accepted: acceptedText(TOKEN_NAME_RULE.accepted) }),
      (value) => TOKEN_NAME_RULE.accepts(value),
    );
}

function exact<K extends AccessKind, S extends yup.ObjectShape>(kind: K, shape: S) {
  return yup
    .object({ kind: yup.string().oneOf([kind]).required(), ...shape })
    .strict()
    .noUnknown()
    .required();
}

/** The kind whose fields a value should have; for an unknown kind, any. */
function kindOf(value: unknown): AccessKind {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? (kind as AccessKind) : 'anyone';
}

/** A lifetime; empty for the relay's default, if that is allowed. */
export const ttlSchema = ruled(yup.string().max(TTL_MAX_CHARS), TTL_RULE);

const fields = {
  port: ruled(yup.number(), PORT_RULE).required(),
  name: ruled(yup.string(), NAME_RULE).defined(),
  ttl: ttlSchema.defined(),
  idle: yup.boolean().required(),
  hostHeader: ruled(yup.string(), HOST_HEADER_RULE).required(),
  domain: ruled(yup.string(), DOMAIN_RULE),
  wildcard: yup.boolean(),
  compress: ruled(yup.string<CompressMode>(), COMPRESS_RULE),
  headers: yup.mixed<HeaderChanges>().test((value) => value === undefined || isHeaderChanges(value)),
  upstream: yup.mixed<Upstream>().test((value) => value === undefined || UPSTREAM_RULE.accepts(value)),
};

/** What is remembered of it. */
const tunnelFormSchema: yup.ObjectSchema<KeptForm> = yup
  .object({
    ...fields,
    folder: yup.string(),
    hosts: yup.mixed<HostPorts>().test((value) => value === undefined || HOSTS_RULE.accepts(value)),
    project: yup.object({ name: yup.string().defined(), label: yup.string().defined() }).default(undefined),
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
  .object({ ...fields, lock: accessSchema })
  .strict()
  .noUnknown()
  .required();

/** `required` rejects missing and empty values. */
function ruled<T extends yup.Schema>(schema: T, rule: ValueRule): T {
  return schema.test(
    'rule',
    () => t('problem.give', { accepted: acceptedText(rule.accepted) }),
    (value) => value === undefined || value === '' || rule.accepts(value),
  );
}

/* A tunnel as the app remembers it between two starts. */

/** A tunnel that this app created. */
export interface SavedTunnel {
  readonly key: string;
  readonly form: KeptForm;
  readonly tunnel: Tunnel;
  /** why it has ended, if it has */
  readonly ended: { readonly reason: string; readonly why: string } | undefined;
  /** what of its request log the user wants to see; all of it without */
  readonly logView?: LogView | undefined;
}

const text = yup.string().defined();

/** Checks all but the tunnel itself, which the relay has given. */
export const savedTunnelSchema = yup
  .object({
    key: text,
    form: tunnelFormSchema,
    tunnel: yup.mixed<Tunnel>().required(),
    ended: yup.object({ reason: text, why: text }).default(undefined),
    logView: yup.object({ part: text, search: text }).default(undefined),
  })
  .required();
