/** What administrative requests say (docs/protocol.md section 14). Each reader throws ApiError 400 for what breaks its rule. */
import { API_ERRORS, ApiError, invalidAdminRequest } from '../../../shared/errors.ts';
import { type Plan, PLANS } from '../../../shared/tunnel.ts';
import {
  ACCOUNT_NAME_RULE,
  isAccountName,
  isReserved,
  isSubdomain,
  type OwnNames,
  SUBDOMAIN_RULE,
} from '../../administration/names.ts';
import * as rules from '../../administration/rules.ts';
import type { KeyScope } from '../../store/records.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function readFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return body as Fields;
}

/** @param field has the name of an account */
export function readName(fields: Fields, field: string): string {
  const name = fields[field];
  return isAccountName(name) ? name : refuse(field, ACCOUNT_NAME_RULE);
}

export function readPlan({ plan }: Fields): Plan {
  return PLANS.find((known) => known === plan) ?? refuse('plan', `one of ${PLANS.join(', ')}`);
}

/** The plan of an account that is made, which has a default. */
export function readNewPlan({ plan }: Fields): Plan {
  return readPlan({ plan: plan ?? 'dev' });
}

/** `null` takes it away. It has to be given: an empty body is a mistake, and no wish to take something away. */
export function readSubdomain({ subdomain }: Fields, own: OwnNames): string | null {
  if (subdomain === null) return null;
  if (isSubdomain(subdomain) && !isReserved(subdomain, own)) return subdomain;
  return refuse('subdomain', `${SUBDOMAIN_RULE}, and not reserved; or null`);
}

/** `null` takes a suspension back. It has to be given, as above. */
export function readReason({ reason }: Fields): string | null {
  if (reason === null) return null;
  return rules.readReason(reason) ?? refuse('reason', `${rules.REASON_RULE}; or null`);
}

export function readLabel({ label }: Fields): string {
  if (label === undefined || label === null) return '';
  return rules.isLabel(label) ? label : refuse('label', rules.LABEL_RULE);
}

/** What a new key is for: everything of its account, or the tunnel of one name. */
export function readScope({ name }: Fields): KeyScope {
  if (name === undefined || name === null) return { kind: 'all' };
  return rules.isScopeName(name) ? { kind: 'tunnel', name } : refuse('name', rules.SCOPE_NAME_RULE);
}

/** @returns seconds */
export function readTtl(fields: Fields, field: string, max: number): number | undefined {
  const given = fields[field];
  if (given === undefined || given === null) return undefined;
  return rules.readTtl(given, max) ?? refuse(field, rules.ttlRule(max));
}

export function readCount(fields: Fields, max: number): number {
  const count = fields['count'] ?? 1;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= max) return count;
  return refuse('count', countRule(max));
}

export function readSwitch(fields: Fields, field: string): boolean {
  const given = fields[field] ?? false;
  return typeof given === 'boolean' ? given : refuse(field, 'true or false');
}

/** The account whose keys or tunnels are wanted; those of all without it. */
export function readAccountFilter({ account }: Fields): string | undefined {
  return account === undefined ? undefined : readName({ account }, 'account');
}

/** How many of a list are wanted. */
export function readListCount({ count }: Fields, max: number): number {
  if (count === undefined) return max;
  const isNumber = typeof count === 'string' && /^\d{1,6}$/.test(count);
  return isNumber ? readCount({ count: Number(count) }, max) : refuse('count', countRule(max));
}

function countRule(max: number): string {
  return `a whole number from 1 to ${max}`;
}

function refuse(field: string, rule: string): never {
  throw new ApiError(invalidAdminRequest(field, rule));
}
