/**
 * Where the clients of tunnels are. A relay alone has them all; several as one ask each other (docs/decisions/0009-cluster.md).
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** What became of an announcement through another relay. */
export type Announced =
  /** It is on its way, on a control socket that was opened with this key and has this fencing number. */
  | { readonly kind: 'sent'; readonly keyId: string; readonly fence: number }
  /** No relay has a control socket, and for how many ms. */
  | { readonly kind: 'away'; readonly ms: number }
  /** The relays cannot reach each other. */
  | { readonly kind: 'apart' };

/** Where a control socket was looked for. */
export type Found =
  /** Another relay has it, with this fencing number. */
  | { readonly kind: 'there'; readonly fence: number }
  /** No other relay has one. */
  | { readonly kind: 'nowhere' }
  /** The relays cannot reach each other. */
  | { readonly kind: 'apart' };

/** A pending connection that another relay may have to announce. */
export interface Announcement {
  readonly id: string;
  announced(result: Announced): void;
}

/** A control socket on this relay, as others may have to know it. */
export interface HeldControl {
  readonly tunnelId: string;
  readonly keyId: string;
  /** Another relay has a newer control socket of the tunnel. */
  replaced(): void;
}

export interface Ownership {
  /** Makes the id of a connection that waits on this relay. */
  connectionId(): string;
  /** Whether what is held here is known to be held here: false after the process has stood still for long. */
  readonly isSure: boolean;
  /** Whether other relays may have the client; where not, `announce` is never called. */
  readonly hasOthers: boolean;
  /** A control socket is there, the newest of its tunnel on this relay. */
  claim(control: HeldControl): void;
  /** It has ended, with this close code. */
  release(control: HeldControl, code: number): void;
  /** Has the relay that has the tunnel's control socket, if there is one, announce a connection; answers within 2 s. */
  announce(tunnelId: string, announcement: Announcement): void;
  /** Looks for a tunnel's control socket on other relays; answers within 2 s. */
  find(tunnelId: string): Promise<Found>;
  /**
   * Those of the tunnels whose control socket another relay has; answers within 2 s. None of them while the relays cannot
   * reach each other.
   */
  online(tunnelIds: readonly string[]): Promise<readonly string[]>;
}

/** There is no other relay. */
export const ALONE: Ownership = {
  connectionId: () => randomUUID(),
  isSure: true,
  hasOthers: false,
  claim() {},
  release() {},
  announce() {},
  find: () => Promise.resolve({ kind: 'nowhere' }),
  online: () => Promise.resolve([]),
};

/* What the link asks of the other relays of a cluster: data sockets land on any of them (docs/decisions/0009-cluster.md). */

/** The upgrade request of a data socket, as far as it matters to another relay. */
export interface UpgradeToPass {
  /** the announced connection */
  readonly id: string;
  /** value of `Sec-WebSocket-Key` */
  readonly key: string;
  /** value of `Authorization`, if there was one */
  readonly authorization: string | undefined;
}

/** The same as it comes from another relay. */
export interface HopRequest extends UpgradeToPass {
  /** incarnation of the relay that passes it on */
  readonly via: string;
}

/** Another relay, which has taken the data socket. */
export interface Hop {
  /** Joins it with the client's connection, which is given away for good. `head`: bytes read behind the request. */
  carry(client: Duplex, head: Buffer): void;
  /** The client has left meanwhile. */
  cancel(): void;
}

/** How they are reached. */
export interface OtherRelays {
  /**
   * Passes a data socket on to the relay where its visitor waits.
   *
   * @returns `undefined` where the id names no other relay that can be reached
   */
  dial(request: UpgradeToPass): Promise<Hop | undefined>;
  /**
   * Learns of a tunnel that others have made.
   *
   * @throws ApiError 503
   */
  followTunnel(id: string): Promise<void>;
}

/** Where there are none. */
export const NO_OTHER_RELAYS: OtherRelays = {
  dial: () => Promise.resolve(undefined),
  followTunnel: () => Promise.resolve(),
};
