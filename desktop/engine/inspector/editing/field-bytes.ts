/**
 * The value of a field as it is sent: recorded values have a character for each byte; a value with characters that no byte
 * holds was written by a person, and is sent as UTF-8.
 */
export function fieldBytes(value: string): Buffer {
  const isBytes = !/[^\0-\u00ff]/.test(value);
  return Buffer.from(value, isBytes ? 'latin1' : 'utf8');
}
