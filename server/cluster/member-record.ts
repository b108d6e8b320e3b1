/**
 * What a relay says about itself in Redis: where its internal listener is, and a proof that it knows the secret of the
 * cluster. Without the proof, the others would find a relay with another secret and could open nothing on it, and whoever
 * may write to Redis could have clients' connections passed to an address of their own.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { uriHost } from '../../shared/host.ts';

/** Where the internal listener of a relay is. */
export interface RelayAddress {
  /** names one life of a relay; whoever has its number later has another incarnation */
  readonly incarnation: string;
  readonly host: string;
  readonly port: number;
}

const RECORD = /^(\[?([^\]~]+?)\]?:(\d+))~([0-9a-f]{64})$/;

/** @returns one word: the address, as people write it, and its proof */
export function writeRecord(relay: RelayAddress, secret: string): string {
  const address = nameOf(relay);
  return `${address}~${proofOf(address, relay.incarnation, secret).toString('hex')}`;
}

/** @returns `undefined` for one that no relay with this secret has written */
export function readRecord(record: string, incarnation: string, secret: string): RelayAddress | undefined {
  const [, address = '', host = '', port = '', proof = ''] = RECORD.exec(record) ?? [];
  const given = Buffer.from(proof, 'hex');
  const wanted = proofOf(address, incarnation, secret);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return { incarnation, host, port: Number(port) };
}

/** @returns host and port as people write them */
export function nameOf({ host, port }: Pick<RelayAddress, 'host' | 'port'>): string {
  return `${uriHost(host)}:${port}`;
}

/** The incarnation is random, so no two proofs are alike, and none is valid for another life of a relay. */
function proofOf(address: string, incarnation: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`culvert-member/1 ${incarnation} ${address}`).digest();
}
