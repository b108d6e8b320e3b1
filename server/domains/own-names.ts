/** Names that are the relay's, so that nobody else can have one of them. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';

export interface OwnNames {
  /** the relay's own name or address, IPv6 without brackets */
  readonly host: string;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
}

/** @throws ApiError 409 for the relay's own name, and what is at or below the domains of its tunnels */
export function mustNotBeOwn(domain: string, { host, tunnelDomain, serviceDomain }: OwnNames): void {
  const isOwn = [tunnelDomain, serviceDomain].some((own) => domain === own || domain.endsWith(`.${own}`));
  if (isOwn || domain === host) throw new ApiError(API_ERRORS.domainTaken);
}
