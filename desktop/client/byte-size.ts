const UNITS = ['kB', 'MB', 'GB', 'TB'];

/** `512 B`, `1.5 kB`, `36.2 MB`, `123 MB`: three significant digits and units of 1000, as in the app's window. */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes / 1000;
  let unit = 0;
  // 999.95 would become 1000.0.
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(value < 100 ? 1 : 0)} ${UNITS[unit]}`;
}
