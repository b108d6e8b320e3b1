/** What relays on one database tell each other about tunnels (docs/decisions/0009-cluster.md). */

/** Why a tunnel ended. */
export type EndReason =
  | 'closed'
  | 'expired'
  /** its account is gone */
  | 'removed'
  /** its domain is not its account's any more */
  | 'displaced';

export type TunnelNews =
  /** `domain` is empty for none */
  | { readonly kind: 'created'; readonly slug: string; readonly domain: string }
  /** others may come in than before, or a client has taken it over */
  | { readonly kind: 'access'; readonly id: string }
  | { readonly kind: 'extended'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'ended'; readonly id: string; readonly reason: EndReason };

/** Whose a domain is has changed. */
export interface DomainNews {
  readonly kind: 'domain';
  readonly domain: string;
}

/** The other relays. What they miss they find out from the store. */
export interface Peers<News = TunnelNews> {
  tell(news: News): void;
}
