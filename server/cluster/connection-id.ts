/**
 * Ids of announced connections. Each identifies the relay that its visitor is connected to, so that a data socket that
 * arrives on another relay can be forwarded without a lookup. A small part of it proves that a relay has created it,
 * so that guessed ids are almost never forwarded.
 */
import { createHmac, randomUUID } from 'node:crypto';

/** Numbers of relays: 16 bits. */
export const RELAY_NUMBER_MAX = 0xffff;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Hex digits of the proof at the end: one in 256 guessed ids passes. */
const PROOF_DIGITS = 2;

/**
 * A UUID whose first 16 bits are the relay's number and whose last 8 are a proof. Version and variant are those of a
 * random UUID, because clients may check them; the other 98 bits are random (protocol.md section 6.1: at least
 * 96).
 *
 * @param secret known only to the relays of the cluster
 */
export function connectionId(relay: number, secret: string): string {
  const start = (relay.toString(16).padStart(4, '0') + randomUUID().slice(4)).slice(0, -PROOF_DIGITS);
  return start + proofOf(start, secret);
}

/** @returns the number of the relay that an id identifies; `undefined` if no relay with this secret has created it */
export function relayOf(id: string, secret: string): number | undefined {
  if (!ID.test(id)) return undefined;
  const start = id.slice(0, -PROOF_DIGITS);
  return id.slice(-PROOF_DIGITS) === proofOf(start, secret) ? Number.parseInt(id.slice(0, 4), 16) : undefined;
}

function proofOf(start: string, secret: string): string {
  return createHmac('sha256', secret).update(`culvert-id/1 ${start}`).digest('hex').slice(0, PROOF_DIGITS);
}
