/** Certificate signing requests (RFC 2986), and the certificates for tls-alpn-01 (RFC 8737): ECDSA with P-256. */
import { createHash, createPublicKey, generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';

/** Writes DER (ITU-T X.690), as far as certificates and signing requests need it. */

/** Object identifiers, encoded without tag and length. */
const OID = {
  /** 1.2.840.10045.4.3.2 */
  ecdsaWithSha256: '2a8648ce3d040302',
  /** 1.2.840.113549.1.9.14 */
  extensionRequest: '2a864886f70d01090e',
  /** 2.5.29.17 */
  subjectAltName: '551d11',
  /** 1.3.6.1.5.5.7.1.31 (RFC 8737 section 6.1) */
  acmeIdentifier: '2b0601050507011f',
} as const;

/** A value with its tag and length. */
export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

export function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, ...parts);
}

export function oid(encoded: (typeof OID)[keyof typeof OID]): Buffer {
  return tagged(0x06, Buffer.from(encoded, 'hex'));
}

/** @param value not negative */
export function integer(value: Buffer): Buffer {
  // A set first bit would make it negative.
  return tagged(0x02, (value[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), value]) : value);
}

function octetString(content: Buffer): Buffer {
  return tagged(0x04, content);
}

/** @param content of whole octets */
function bitString(content: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), content);
}

export const TRUE = tagged(0x01, Buffer.from([0xff]));

/** A constructed value whose meaning depends on its context. */
export function context(number: number, ...parts: readonly Buffer[]): Buffer {
  return tagged(0xa0 + number, ...parts);
}

/** @param at in ms since the epoch, before 2050 */
function utcTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, 'latin1'));
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

const DAY_MS = 86_400_000;
const ALGORITHM = sequence(oid(OID.ecdsaWithSha256));
const NO_NAME = sequence();
const generate = promisify(generateKeyPair);

/** A new private key, P-256. */
export async function newKey(): Promise<KeyObject> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
  return privateKey;
}

/** As PEM. */
export function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** @returns DER of a signing request for these names, signed with its own key */
export function certificateRequest(names: readonly string[], key: KeyObject): Buffer {
  const extensions = sequence(subjectAltName(names));
  const attributes = context(0, sequence(oid(OID.extensionRequest), set(extensions)));
  return signed(sequence(integer(Buffer.from([0])), NO_NAME, publicKeyOf(key), attributes), key);
}

/**
 * @param now wall time in ms
 * @returns PEM of the certificate that proves a name in a handshake for `acme-tls/1`
 */
export function challengeCertificate(
  host: string,
  keyAuthorization: string,
  key: KeyObject,
  now: number,
): string {
  const digest = createHash('sha256').update(keyAuthorization).digest();
  const acmeIdentifier = sequence(oid(OID.acmeIdentifier), TRUE, octetString(octetString(digest)));
  const content = { names: [host], from: now - DAY_MS, until: now + DAY_MS, extensions: [acmeIdentifier] };
  return certificate({ ...content, publicKey: publicKeyOf(key) }, key);
}

interface CertificateContent {
  readonly names: readonly string[];
  /** DER, as in signing requests */
  readonly publicKey: Buffer;
  /** ms since the epoch */
  readonly from: number;
  readonly until: number;
  /** in addition to the names */
  readonly extensions: readonly Buffer[];
}

/** @returns PEM of a certificate signed by `signer`, which is not named in it */
export function certificate(content: CertificateContent, signer: KeyObject): string {
  const { names, publicKey, from, until, extensions } = content;
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const der = signed(
    sequence(
      context(0, integer(Buffer.from([2]))),
      integer(serial),
      ALGORITHM,
      NO_NAME,
      sequence(utcTime(from), utcTime(until)),
      NO_NAME,
      publicKey,
      context(3, sequence(subjectAltName(names), ...extensions)),
    ),
    signer,
  );
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Critical, because the certificate has no other names. */
function subjectAltName(names: readonly string[]): Buffer {
  const list = names.map((name) => tagged(0x82, Buffer.from(name, 'latin1')));
  return sequence(oid(OID.subjectAltName), TRUE, octetString(sequence(...list)));
}

/** DER. */
export function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return sequence(content, ALGORITHM, bitString(sign('sha256', content, key)));
}
