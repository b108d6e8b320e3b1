/** What the link asks of the other relays of a cluster: data sockets land on any of them (docs/decisions/0009-cluster.md). */
import type { Duplex } from 'node:stream';

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
