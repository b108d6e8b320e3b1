/**
 * What relays send each other on a connection that carries data sockets one after the other: TLS 1.3 with a key of which only
 * the relays of the cluster know, then frames (hop-connection.ts). The first frame of each data socket says who it is for
 * (docs/decisions/0009-cluster.md).
 */
import { createHmac } from 'node:crypto';
import type { HopRequest, UpgradeToPass } from '../../link/other-relays.ts';

/**
 * Both ends of the connection (RFC 8446 section 2.2, `psk_dhe_ke`): no certificate, no earlier version, no early data. The key
 * exchange makes each handshake unique, so that none can be replayed, and recorded traffic stays secret if the cluster's
 * secret becomes known. The cipher suite is one whose hash is SHA-256, which keys without a hash of their own belong to.
 */
export const HOP_TLS = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519',
} as const;

const INCARNATION = /^[\w-]{1,64}$/;

/** What the key of a connection belongs to: no other pair of relays can use it, nor the same two in the other direction. */
export interface HopEnds {
  /** incarnation of the relay that connects */
  readonly from: string;
  /** incarnation of the relay that listens */
  readonly to: string;
}

/**
 * @param secret known to the relays of the cluster alone
 * @returns the key, 32 bytes; `undefined` for a name that no relay has
 */
export function hopKey({ from, to }: HopEnds, secret: string): Buffer | undefined {
  if (!INCARNATION.test(from)) return undefined;
  return createHmac('sha256', secret).update(`culvert-hop/3 ${from} ${to}`).digest();
}

export function writeRequest({ id, key, authorization }: UpgradeToPass): Buffer {
  return Buffer.from(JSON.stringify([id, key, authorization ?? '']));
}

/** @returns `undefined` for anything that no relay of this version sends */
export function readRequest(bytes: Buffer, via: string): HopRequest | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields)) return undefined;
  const [id, key, authorization] = fields as unknown[];
  if (typeof id !== 'string' || typeof key !== 'string' || typeof authorization !== 'string')
    return undefined;
  return { id, key, authorization: authorization === '' ? undefined : authorization, via };
}
