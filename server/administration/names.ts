/** Names that whoever runs the relay gives: of accounts, and of their subdomains. */
import { NAME_PATTERN } from '../../shared/constraints.ts';
import { hasUnprintable } from '../../shared/unprintable.ts';

/** Long enough for a person's or a team's name, on one line. */
const ACCOUNT_NAME = /^\S(?:.{0,98}\S)?$/u;
export const ACCOUNT_NAME_RULE =
  'the name of an account: 1-100 characters, no spaces at the ends, no control characters';
export const SUBDOMAIN_RULE =
  '2-63 characters: lowercase letters, digits and hyphens, not starting or ending with a hyphen';

export function isAccountName(given: unknown): given is string {
  return typeof given === 'string' && ACCOUNT_NAME.test(given) && !hasUnprintable(given);
}

export function isSubdomain(given: unknown): given is string {
  return typeof given === 'string' && NAME_PATTERN.test(given);
}

/** The names that are the relay's own. */
export interface OwnNames {
  readonly reservedNames: ReadonlySet<string>;
  readonly serviceDomain: string;
  readonly tunnelDomain: string;
  readonly publicUrl: URL | undefined;
}

/** Whether no account may have the subdomain: visitors would take it for the relay's own. */
export function isReserved(
  subdomain: string,
  { reservedNames, serviceDomain, tunnelDomain, publicUrl }: OwnNames,
): boolean {
  const host = `${subdomain}.${serviceDomain}`;
  return reservedNames.has(subdomain) || [tunnelDomain, publicUrl?.hostname].includes(host);
}
