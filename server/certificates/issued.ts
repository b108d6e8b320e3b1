/** Certificates as they are kept: with what follows from their dates. */
import { X509Certificate } from 'node:crypto';
import type { CertificateRecord } from '../store/records.ts';
import type { Issued } from './acme/order.ts';

/** A certificate is renewed when this much of its life is over, or up to {@link JITTER} of it earlier. */
const RENEW_AFTER = 2 / 3;
/** So that certificates that came together are not renewed together: 1.8 days of 90. */
const JITTER = 1 / 50;
/** ms by which a clock may be behind that of an authority. */
const BEHIND_MS = 60_000;

/**
 * @param now wall time in ms
 * @param random from 0 to 1
 */
export function certificateOf(
  name: string,
  { chain, key }: Issued,
  now: number,
  random: number,
): CertificateRecord {
  const own = new X509Certificate(chain);
  const [from, until] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  const renewAt = Math.floor(from + (until - from) * (RENEW_AFTER - JITTER * random));
  return { name, chain, key, renewAt, notAfter: until, storedAt: now };
}

/** @returns whether its life only begins later, by a clock that is behind */
export function isTooEarly({ chain }: Issued, now: number): boolean {
  return Date.parse(new X509Certificate(chain).validFrom) > now + BEHIND_MS;
}
