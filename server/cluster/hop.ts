/**
 * The first line on a connection from relay to relay, which says for whom the data socket is and proves that a relay of
 * this cluster sends it: `culvert-hop/1 NONCE MAC REQUEST`, then the raw connection (docs/decisions/0009-cluster.md).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The upgrade request of a data socket, as far as it matters. */
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

const LINE = /^culvert-hop\/1 ([0-9a-f]{32}) ([0-9a-f]{64}) ([\w-]+)$/;

/** @param incarnation the relay it is for: a line means nothing to any other */
export function writeHop(request: HopRequest, incarnation: string, secret: string): string {
  const nonce = randomBytes(16).toString('hex');
  const text = Buffer.from(JSON.stringify(request)).toString('base64url');
  return `culvert-hop/1 ${nonce} ${macOf(nonce, text, incarnation, secret).toString('hex')} ${text}\n`;
}

/**
 * @param line without its end
 * @returns `undefined` for one that no relay of this cluster has sent to this incarnation
 */
export function readHop(line: string, incarnation: string, secret: string): HopRequest | undefined {
  const [, nonce = '', mac = '', text = ''] = LINE.exec(line) ?? [];
  const given = Buffer.from(mac, 'hex');
  const wanted = macOf(nonce, text, incarnation, secret);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  // Only a relay can have written it.
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as HopRequest;
}

function macOf(nonce: string, text: string, incarnation: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`culvert-hop/1 ${nonce} ${incarnation} ${text}`).digest();
}
