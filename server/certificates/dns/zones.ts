/** Which names this server is the authority for: those of dns-01 challenges (RFC 8555 section 8.4), and nothing else. */
import { wireName } from './wire-name.ts';

/** Where a certificate for a name, or for the wildcard below it, is asked for. */
export function challengeName(domain: string): string {
  return `_acme-challenge.${domain}`;
}

const CHALLENGE_LABEL = wireName(challengeName('x')).slice(0, -3);

/** What a question is about. */
export interface Found {
  /** the zone's name, as {@link wireName} gives it */
  readonly apex: string;
  /** where that begins in the name of the question; 0 if that is the zone itself */
  readonly offset: number;
}

/** The zones of a relay: one for each of its domains, each with nothing but its own name. */
export class Zones {
  readonly #domains: ReadonlySet<string>;
  readonly #parents: readonly string[];

  /**
   * @param domains whose challenges are served
   * @param parents the same for every name one label below these. Accounts have such names; that all of them are served,
   *     whether there is an account or not, tells nobody which there are.
   */
  constructor(domains: readonly string[], parents: readonly string[]) {
    this.#domains = new Set(domains.map(wireName));
    this.#parents = parents.map(wireName);
  }

  /** @param name as {@link wireName} gives it */
  find(name: string): Found | undefined {
    for (let offset = 0; offset < name.length; offset += 1 + name.charCodeAt(offset)) {
      if (!name.startsWith(CHALLENGE_LABEL, offset)) continue;
      const apex = name.slice(offset);
      if (this.#serves(apex.slice(CHALLENGE_LABEL.length))) return { apex, offset };
    }
    return undefined;
  }

  #serves(domain: string): boolean {
    return this.#domains.has(domain) || this.#parents.includes(domain.slice(1 + domain.charCodeAt(0)));
  }
}
