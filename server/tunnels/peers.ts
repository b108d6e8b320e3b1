/** What relays on one database tell each other about tunnels (docs/decisions/0009-cluster.md). */

/** Why a tunnel ended; `removed`: its account is gone. */
export type EndReason = 'closed' | 'expired' | 'removed';

export type TunnelNews =
  | { readonly kind: 'created'; readonly slug: string }
  | { readonly kind: 'access'; readonly id: string }
  | { readonly kind: 'extended'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'ended'; readonly id: string; readonly reason: EndReason };

/** The other relays. What they miss they find out from the store. */
export interface Peers {
  tell(news: TunnelNews): void;
}
