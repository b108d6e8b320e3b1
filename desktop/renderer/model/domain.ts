/** The own address of a new tunnel, as it is chosen. */
import { t } from '../../i18n/translate.ts';
import type { DomainView } from '../../shared/domain.ts';

/** Value of the choice for a domain that is not there yet. */
export const NEW_DOMAIN = 'new';

export interface DomainDraft {
  /** the domain, empty for none, or {@link NEW_DOMAIN} */
  readonly choice: string;
  readonly isVerified: boolean;
}

export const NO_DOMAIN: DomainDraft = { choice: '', isVerified: false };

/** @returns what to ask main for, or why that cannot be */
export function readDomainDraft({
  choice,
  isVerified,
}: DomainDraft): { domain: string } | { problem: string } {
  if (choice === '' || isVerified) return { domain: choice };
  if (choice === NEW_DOMAIN) return { problem: t('domain.addFirst') };
  return { problem: t('domain.notVerified', { choice }) };
}

export function domainLabel({ domain, status }: DomainView): string {
  return status === 'verified' ? domain : t('domain.notVerifiedChoice', { domain });
}

/** A list with a domain as it is now. */
export function withDomain(domains: readonly DomainView[], changed: DomainView): readonly DomainView[] {
  const others = domains.filter(({ id }) => id !== changed.id);
  return others.length === domains.length
    ? [...domains, changed]
    : domains.map((one) => (one.id === changed.id ? changed : one));
}
