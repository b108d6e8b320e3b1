/** Lines of a hex dump; 64 KiB. */
const MOST_LINES = 4096;
const BYTES_PER_LINE = 16;

/** A hex dump: offset, bytes, printable characters. */
export function hexDump(body: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < body.length && lines.length < MOST_LINES; at += BYTES_PER_LINE) {
    const bytes = [...body.subarray(at, at + BYTES_PER_LINE)];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const shown = bytes
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(BYTES_PER_LINE * 3 - 1)}  ${shown}`);
  }
  return lines.join('\n');
}
