/**
 * Fields that say where a message goes, where it ends, or what its connection is for: they follow from the rest of a request,
 * so whoever edits one does not write them (RFC 9110 sections 7.2, 7.6.1 and 8.6, RFC 9112 section 6).
 */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);

/** Whether culvert writes this field of an edited request by itself. */
export function isOwnField(name: string): boolean {
  return OWN_FIELDS.has(name.toLowerCase());
}
