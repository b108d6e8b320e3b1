/** What the create form may contain. */
import * as yup from 'yup';
import {
  ALLOW_MAX,
  NETWORK_RULE,
  PASSWORD_RULE,
  SIGN_IN_MAX,
  SIGN_IN_RULE,
  TOKEN_NAME_RULE,
} from '../../../../shared/access.ts';
import { DOMAIN_RULE } from '../../../../shared/domains.ts';
import { type HeaderChanges, isHeaderChanges, NO_HEADER_CHANGES } from '../../../../shared/header-changes.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { AWAY_RULE } from '../../../../shared/names.ts';
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
import {
  HOSTS_RULE,
  SPEC_DEFAULTS,
  type TunnelSettings,
  type TunnelTarget,
  WAIT_RULE,
} from '../../../client/config/tunnel-spec.ts';
import type { OfflineReason } from '../../../client/control/verdict.ts';
import type { KnownTunnel } from '../../../client/host/served-tunnel.ts';
import { localPort } from '../../../client/local/local-service.ts';
import type { CreateForm, TunnelForm } from '../../ipc/ipc.ts';
import type { LogView } from '../../ipc/request-views.ts';
import type { TunnelAccess, AccessKind } from '../../ipc/tunnel-views.ts';
import { acceptedText } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';

/** Maximum length of a typed lifetime, such as `30m`. */
export const TTL_MAX_CHARS = 32;

/* Valid access policies, by the same rules as the relay's. */

const kinds = {
  anyone: exact('anyone', {}),
  password: exact('password', {
    password: textOf(PASSWORD_RULE),
  }),
  links: exact('links', {}),
  addresses: exact('addresses', {
    allow: listOf(NETWORK_RULE, ALLOW_MAX),
  }),
  knock: exact('knock', {}),
  tokens: exact('tokens', { name: tokenName() }),
  signIn: exact('signIn', { rules: listOf(SIGN_IN_RULE, SIGN_IN_MAX) }),
  agents: exact('agents', {}),
} as const satisfies Record<AccessKind, yup.Schema>;

export const accessSchema = yup.lazy(
  (value: unknown) => kinds[kindOf(value)],
) as unknown as yup.Schema<TunnelAccess>;

export function tokenName(): yup.StringSchema<string> {
  return textOf(TOKEN_NAME_RULE);
}

function textOf(rule: ValueRule): yup.StringSchema<string> {
  return yup
    .string()
    .required()
    .test(
      'rule',
      () => t('problem.give', { accepted: acceptedText(rule) }),
      (value) => rule.accepts(value),
    );
}

/** Without any item the relay would let everybody in. */
function listOf(rule: ValueRule, max: number) {
  return yup.array(textOf(rule)).min(1).max(max).required();
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

export const createFormSchema: yup.ObjectSchema<CreateForm> = yup
  .object({ ...fields, lock: accessSchema })
  .strict()
  .noUnknown()
  .required();

/** `required` rejects missing and empty values. */
function ruled<T extends yup.Schema>(schema: T, rule: ValueRule): T {
  return schema.test(
    'rule',
    () => t('problem.give', { accepted: acceptedText(rule) }),
    (value) => value === undefined || value === '' || rule.accepts(value),
  );
}

/** The tunnel that a form describes. */
export function settingsOf(form: TunnelForm): TunnelSettings {
  const { port, name, ttl, idle, hostHeader, upstream = 'http1' } = form;
  const { domain, wildcard = false, compress = 'auto', headers = NO_HEADER_CHANGES } = form;
  return {
    ...SPEC_DEFAULTS,
    label: undefined,
    target: { ...localPort(port), hostHeader, upstream },
    name: name === '' ? undefined : name,
    ttl: ttl === '' ? undefined : ttl,
    idle,
    domain,
    wildcard,
    compress,
    headers,
  };
}

/* A tunnel as the app remembers it between two starts. */

/** A tunnel that this app created. */
export interface SavedTunnel extends Omit<KnownTunnel, 'ended'> {
  /** why it has ended, if it has; in the language that the app had */
  readonly ended: { readonly reason: OfflineReason; readonly why: string } | undefined;
  /** what of its request log the user wants to see; all of it without */
  readonly logView?: LogView | undefined;
}

const text = yup.string().defined();

const settingsSchema = yup
  .object({
    label: yup.string(),
    project: yup.string(),
    target: yup.mixed<TunnelTarget>().test(isTarget).required(),
    name: ruled(yup.string(), NAME_RULE),
    keep: yup.object({ away: ruled(yup.string(), AWAY_RULE) }).default(undefined),
    domain: ruled(yup.string(), DOMAIN_RULE),
    wildcard: yup.boolean().required(),
    ttl: ttlSchema,
    idle: yup.boolean().required(),
    headers: yup
      .mixed<HeaderChanges>()
      .test((value) => isHeaderChanges(value))
      .required(),
    compress: ruled(yup.string<CompressMode>(), COMPRESS_RULE).required(),
    keepBodies: yup.number().required(),
  })
  .strict()
  .noUnknown()
  .required() as unknown as yup.Schema<TunnelSettings>;

function isTarget(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if ('folder' in value) return FOLDER.isValidSync(value);
  return SERVICE_RULES.every(([field, accepts]) => accepts((value as Record<string, unknown>)[field]));
}

const FOLDER = yup.object({ folder: text, hidden: yup.array(text) }).strict();

const RAW = yup
  .object({
    protocol: yup.string().oneOf(['tls', 'tcp']).required(),
    remotePort: ruled(yup.number(), PORT_RULE),
    proxyProtocol: yup.boolean().required(),
  })
  .strict()
  .noUnknown();

const SERVICE_RULES: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ['host', (value) => LOCAL_HOST_RULE.accepts(value)],
  ['port', (value) => PORT_RULE.accepts(value)],
  ['https', (value) => typeof value === 'boolean'],
  ['waitMs', (value) => WAIT_RULE.accepts(Number(value) / 1000)],
  ['upstream', (value) => UPSTREAM_RULE.accepts(value)],
  ['hostHeader', (value) => HOST_HEADER_RULE.accepts(value)],
  ['hosts', (value) => value === undefined || HOSTS_RULE.accepts(value)],
  ['raw', (value) => value === undefined || RAW.isValidSync(value)],
];

/** Checks all but the tunnel itself, which the relay has given. */
export const savedTunnelSchema = yup
  .object({
    key: text,
    settings: settingsSchema,
    tunnel: yup.mixed<Tunnel>().required(),
    ended: yup.object({ reason: yup.string<OfflineReason>().defined(), why: text }).default(undefined),
    logView: yup.object({ part: text, search: text }).default(undefined),
  })
  .required();
