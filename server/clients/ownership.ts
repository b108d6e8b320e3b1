/**
 * Which relay has the clients of tunnels. A standalone relay has them all; cluster members ask each other
 * (docs/decisions/0009-cluster.md).
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { RelayProblem } from '../../shared/control.ts';
import type { Dial, DialFault } from '../tunnels/stream.ts';
import type { StreamSocket } from './client-streams.ts';

/**
 * How long a cluster member is considered alive without renewing its lease: slightly more than three renewals.
 */
export const RELAY_LEASE_MS = 10_000;

/** The result of looking for a control socket. */
export type Found =
  /** The relay with this incarnation has it. */
  | { readonly kind: 'there'; readonly relay: string }
  /** No other relay has one, and how many ms this has been the case. */
  | { readonly kind: 'away'; readonly ms: number }
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
  /** Whether other relays may have the client, so that visitors are forwarded to it. */
  readonly hasOthers: boolean;
  /**
   * A control socket was opened, the newest of its tunnel on this relay.
   *
   * @returns fulfilled when other relays find it, or cannot be told; `undefined` if nobody has to
   */
  claim(control: HeldControl): Promise<void> | undefined;
  /** It has ended. */
  release(control: HeldControl): void;
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
  claim: () => undefined,
  release() {},
  tellProblem() {},
  find: () => Promise.resolve({ kind: 'away', ms: Infinity }),
  online: () => Promise.resolve([]),
};

/*
 * Forwarding between the relays of a cluster: visitors, data sockets and trunks arrive on any of them. Each is handed on
 * once, because the relay that gets it never looks for another one (docs/decisions/0009-cluster.md).
 */

/** The parts of the upgrade request of a data socket or a trunk that another relay needs. */
export interface ForwardedUpgrade {
  readonly kind: 'data' | 'trunk';
  /** the announced connection of a data socket, the tunnel of a trunk */
  readonly id: string;
  /** value of `Sec-WebSocket-Key` */
  readonly key: string;
  /** value of `Authorization`, if there was one */
  readonly authorization: string | undefined;
  /** whether the client can tell and learn the end of one direction of a raw connection on its data socket */
  readonly carriesEnd: boolean;
}

/** The same as received from another relay. */
export interface HopRequest extends ForwardedUpgrade {
  /** incarnation of the forwarding relay */
  readonly via: string;
}

/**
 * Joins the client's connection, which it then owns, to the socket that another relay has accepted.
 *
 * @param taken `undefined` to give up, because the client has disconnected; `head`: bytes read after the request
 */
export type Hop = (taken: { readonly socket: Duplex; readonly head: Buffer } | undefined) => void;

/** Why there is no stream to the client on another relay. */
export type VisitFailure =
  | Exclude<Found, { kind: 'there' }>
  /** The relay with the client has given the visitor up. */
  | { readonly kind: 'fault'; readonly fault: DialFault }
  /** The relay that should have the client does not have it, or cannot be reached. */
  | { readonly kind: 'lost' };

export interface VisitHandler {
  /** @param via incarnation of the relay that has the client */
  opened(stream: StreamSocket, via: string): void;
  failed(failure: VisitFailure): void;
}

/** A stream that is being opened on another relay. After `cancel` the handler is no longer called. */
export interface Visit extends Dial {
  /** incarnation of the relay that was asked for it, once that is known */
  readonly relay: string | undefined;
}

export interface Forwarder {
  /** Opens a stream to the client of a tunnel on the relay that has it. @param peers as in `Dialer.dial`, else empty */
  visit(tunnelId: string, handler: VisitHandler, peers?: string): Visit;
  /**
   * Hands on a data socket to the relay that its id names, or a trunk to the one with its tunnel's control socket.
   *
   * @returns the status of a refusal; `undefined` if no other relay is responsible, or it cannot be reached
   */
  upgrade(request: ForwardedUpgrade): Promise<Hop | number | undefined>;
}

export const NO_FORWARDER: Forwarder = {
  visit: () => ({ relay: undefined, cancel() {} }),
  upgrade: () => Promise.resolve(undefined),
};
