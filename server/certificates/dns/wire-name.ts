/**
 * Domain names as they travel: length and bytes of each label, and a zero (RFC 1035 section 3.1), one character for each byte.
 * A text with dots could not tell a dot within a label from one between two.
 */

const LABEL_MAX_BYTES = 63;
const NAME_MAX_BYTES = 255;

/**
 * @param name ASCII, with dots between labels
 * @throws RangeError when a label is empty or longer than 63 bytes, or the name longer than 255
 */
export function wireName(name: string): string {
  const labels = name.toLowerCase().split('.');
  if (labels.some((label) => label === '' || label.length > LABEL_MAX_BYTES))
    throw new RangeError(`no domain name: ${name}`);
  const wire = `${labels.map((label) => String.fromCharCode(label.length) + label).join('')}\0`;
  if (wire.length > NAME_MAX_BYTES) throw new RangeError(`too long a domain name: ${name}`);
  return wire;
}

/**
 * Reads a name without compression: a question comes first in its message, so there is nothing it could point to.
 *
 * @returns its bytes with letters in lower case, or `undefined` if there is no name of at most 255 bytes
 */
export function readWireName(packet: Buffer, start: number): string | undefined {
  const limit = Math.min(packet.length, start + NAME_MAX_BYTES);
  let at = start;
  while (at < limit) {
    const length = packet[at] ?? 0;
    at += 1 + length;
    if (length === 0) return packet.toString('latin1', start, at).replaceAll(/[A-Z]/g, lower);
    if (length > LABEL_MAX_BYTES) return undefined;
  }
  return undefined;
}

function lower(letter: string): string {
  return letter.toLowerCase();
}
