/** Writes DER (ITU-T X.690), as far as certificates and requests for them need it. */

/** Object identifiers, encoded without tag and length. */
export const OID = {
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
  // A first bit that is set would make it negative.
  return tagged(0x02, (value[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), value]) : value);
}

export function octetString(content: Buffer): Buffer {
  return tagged(0x04, content);
}

/** @param content of whole octets */
export function bitString(content: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), content);
}

export const TRUE = tagged(0x01, Buffer.from([0xff]));

/** A constructed value that has a meaning only where it is used. */
export function context(number: number, ...parts: readonly Buffer[]): Buffer {
  return tagged(0xa0 + number, ...parts);
}

/** @param at in ms since the epoch, before 2050 */
export function utcTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, 'latin1'));
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}
