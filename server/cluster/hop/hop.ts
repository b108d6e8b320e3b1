/**
 * What relays send each other on a connection that carries data sockets one after the other: a line that proves that a relay
 * of this cluster opened it, `culvert-hop/2 NONCE MAC VIA`, then frames (hop-connection.ts). The first frame of each data
 * socket says who it is for (docs/decisions/0009-cluster.md).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { HopRequest, UpgradeToPass } from '../../link/other-relays.ts';

const GREETING = /^culvert-hop\/2 ([0-9a-f]{32}) ([0-9a-f]{64}) ([\w-]+)$/;

/**
 * @param via incarnation of the relay that says it
 * @param incarnation the relay it is for: a line means nothing to any other
 */
export function writeGreeting(via: string, incarnation: string, secret: string): string {
  const nonce = randomBytes(16).toString('hex');
  return `culvert-hop/2 ${nonce} ${macOf(nonce, via, incarnation, secret).toString('hex')} ${via}\n`;
}

/**
 * @param line without its end
 * @returns who has sent it; `undefined` for a line that no relay of this cluster has sent to this incarnation
 */
export function readGreeting(line: string, incarnation: string, secret: string): string | undefined {
  const [, nonce = '', mac = '', via = ''] = GREETING.exec(line) ?? [];
  const given = Buffer.from(mac, 'hex');
  const wanted = macOf(nonce, via, incarnation, secret);
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? via : undefined;
}

export function writeRequest({ id, key, authorization }: UpgradeToPass): Buffer {
  return Buffer.from(JSON.stringify([id, key, authorization ?? '']));
}

/** @returns `undefined` for anything that no relay sends: somebody who is not a relay can replay a greeting */
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

function macOf(nonce: string, via: string, incarnation: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`culvert-hop/2 ${nonce} ${incarnation} ${via}`).digest();
}
