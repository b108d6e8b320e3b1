/** Notifications about tunnels between relays on one database (docs/decisions/0009-cluster.md). */

/** Why a tunnel ended. */
export type EndReason =
  | 'closed'
  | 'expired'
  /** its account was deleted */
  | 'removed'
  /** its domain no longer belongs to its account */
  | 'displaced';

export type TunnelNews =
  /** `domain` is empty for none */
  | { readonly kind: 'created'; readonly slug: string; readonly domain: string }
  /** the access policy, links or approval requests have changed, or a client has taken the tunnel over */
  | { readonly kind: 'access'; readonly id: string }
  | { readonly kind: 'extended'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'ended'; readonly id: string; readonly reason: EndReason };

/** The owner of a domain has changed. */
export interface DomainNews {
  readonly kind: 'domain';
  readonly domain: string;
}

/** The other relays. Notifications may be lost; their content is in the store. */
export interface Peers<News = TunnelNews> {
  tell(news: News): void;
}
