/**
 * The ids of announced connections. Each names the relay that its visitor is connected to, so that a data socket that lands
 * on another relay finds its way without a lookup, and a small part of it proves that a relay has made it, so that next to
 * no made-up ids are passed on.
 */
import { createHmac, randomUUID } from 'node:crypto';

/** Numbers of relays: 16 bits. */
export const RELAY_NUMBER_MAX = 0xffff;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Hex digits at the end that prove it: one in 256 made-up ids gets through. */
const PROOF_DIGITS = 2;

/**
 * A UUID whose first 16 bits are the relay's number and whose last 8 prove it. Version and variant are those of a random UUID,
 * because clients may check them; the other 98 bits are random (docs/protocol.md section 6.1: at least 96).
 *
 * @param secret known to the relays of the cluster alone
 */
export function connectionId(relay: number, secret: string): string {
  const start = (relay.toString(16).padStart(4, '0') + randomUUID().slice(4)).slice(0, -PROOF_DIGITS);
  return start + proofOf(start, secret);
}

/** @returns the number of the relay that an id names; `undefined` if no relay with this secret has made it */
export function relayOf(id: string, secret: string): number | undefined {
  if (!ID.test(id)) return undefined;
  const start = id.slice(0, -PROOF_DIGITS);
  return id.slice(-PROOF_DIGITS) === proofOf(start, secret) ? Number.parseInt(id.slice(0, 4), 16) : undefined;
}

function proofOf(start: string, secret: string): string {
  return createHmac('sha256', secret).update(`culvert-id/1 ${start}`).digest('hex').slice(0, PROOF_DIGITS);
}
