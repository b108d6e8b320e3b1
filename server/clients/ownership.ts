/**
 * Which relay has the clients of tunnels. A standalone relay has them all; cluster members ask each other
 * (docs/decisions/0009-cluster.md).
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { RelayProblem } from '../../shared/control.ts';

/**
 * @limit How long a cluster member is considered alive without renewing its lease: slightly more than three renewals.
 */
export const RELAY_LEASE_MS = 10_000;

/** The result of an announcement through another relay. */
export type Announced =
  /** It was sent, on a control socket with this fencing number that was opened with this key. */
  | { readonly kind: 'sent'; readonly keyId: string; readonly fence: number }
  /** No relay has a control socket, and how many ms this has been the case. */
  | { readonly kind: 'away'; readonly ms: number }
  /** The relays cannot reach each other. */
  | { readonly kind: 'apart' };

/** The result of looking for a control socket. */
export type Found =
  /** Another relay has it, with this fencing number. */
  | { readonly kind: 'there'; readonly fence: number }
  /** No other relay has one. */
  | { readonly kind: 'nowhere' }
  /** The relays cannot reach each other. */
  | { readonly kind: 'apart' };

/** A control socket on this relay, as published to other relays. */
export interface HeldControl {
  readonly tunnelId: string;
  readonly keyId: string;
  /** called when another relay has a newer control socket of the tunnel */
  readonly replaced: () => void;
}

export interface Ownership {
  /** Generates the id of a connection that waits on this relay. */
  connectionId(): string;
  /** Whether ownership of the local clients is confirmed: false after the process was suspended for long. */
  readonly isSure: boolean;
  /** Whether other relays may have the client; if not, `announce` is never called. */
  readonly hasOthers: boolean;
  /** A control socket was opened, the newest of its tunnel on this relay. */
  claim(control: HeldControl): void;
  /** It has ended, with this close code. */
  release(control: HeldControl, code: number): void;
  /**
   * Asks the relay with the tunnel's control socket, if there is one, to announce a connection.
   *
   * @param announced called with the result, within 2 s
   */
  announce(tunnelId: string, connectionId: string, announced: (result: Announced) => void): void;
  /** Passes a problem to the relay with the tunnel's control socket, if there is one. */
  tellProblem(tunnelId: string, problem: RelayProblem): void;
  /** Looks for a tunnel's control socket on other relays; answers within 2 s. */
  find(tunnelId: string): Promise<Found>;
  /**
   * Those of the tunnels whose control socket another relay has; answers within 2 s. None of them while the relays
   * cannot reach each other.
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
  tellProblem() {},
  find: () => Promise.resolve({ kind: 'nowhere' }),
  online: () => Promise.resolve([]),
};

/* Forwarding between the relays of a cluster: data sockets arrive on any of them (docs/decisions/0009-cluster.md). */

/** The parts of a data socket's upgrade request that another relay needs. */
export interface UpgradeToPass {
  /** the announced connection */
  readonly id: string;
  /** value of `Sec-WebSocket-Key` */
  readonly key: string;
  /** value of `Authorization`, if there was one */
  readonly authorization: string | undefined;
}

/** The same as received from another relay. */
export interface HopRequest extends UpgradeToPass {
  /** incarnation of the forwarding relay */
  readonly via: string;
}

/**
 * Joins the client's connection, which it then owns, to the data socket that another relay has accepted.
 *
 * @param taken `undefined` to give up, because the client has disconnected; `head`: bytes read after the request
 */
export type Hop = (taken: { readonly socket: Duplex; readonly head: Buffer } | undefined) => void;

/**
 * Forwards a data socket to the relay where its visitor waits.
 *
 * @returns `undefined` if the id does not name another relay that can be reached
 */
export type DialHop = (request: UpgradeToPass) => Promise<Hop | undefined>;
