/**
 * The ids of announced connections. Each names the relay whose visitor it stands for, so that a data socket that lands
 * on another relay finds its way without a lookup.
 */
import { randomUUID } from 'node:crypto';

/** Numbers of relays: 16 bits. */
export const RELAY_NUMBER_MAX = 0xffff;

/**
 * A UUID whose first 16 bits are the relay's number. Version and variant are those of a random UUID, because clients may
 * check them; the other 106 bits are random (contract.md, WebSockets: at least 96).
 */
export function connectionId(relay: number): string {
  return relay.toString(16).padStart(4, '0') + randomUUID().slice(4);
}

/** @returns the number of the relay that an id names, `undefined` where it is no such id */
export function relayOf(id: string): number | undefined {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)
    ? Number.parseInt(id.slice(0, 4), 16)
    : undefined;
}
