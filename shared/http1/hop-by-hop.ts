/** Fields that are about one connection only and are not passed on (RFC 9110 section 7.6.1). */
import { type Field, listMembers } from './head.ts';

const ALWAYS = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade']);
/** Fields a `Connection` field must not take away: they say where a message goes and where it ends. */
const NEVER = new Set(['host', 'content-length', 'transfer-encoding', 'trailer']);

/**
 * Makes a test for the fields of one message.
 *
 * @returns whether a field, given by its name in lower case, is to be dropped
 */
export function hopByHop(fields: readonly Field[]): (lower: string) => boolean {
  const named = listMembers(fields, 'connection').filter((name) => !NEVER.has(name));
  if (named.length === 0) return (lower) => ALWAYS.has(lower);
  return (lower) => ALWAYS.has(lower) || named.includes(lower);
}
