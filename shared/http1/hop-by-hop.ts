/** Fields that are about one connection only and are not passed on (RFC 9110 section 7.6.1). */
import { type Field, listMembers } from './fields.ts';

/** Fields a `Connection` field must not take away: they say where a message goes and where it ends. */
const NEVER = new Set(['host', 'content-length', 'transfer-encoding', 'trailer']);
const NONE: readonly string[] = [];

/**
 * The names of fields that the `Connection` fields of a message take away, in lower case; given to {@link isHopByHop}.
 */
export function namedByConnection(fields: readonly Field[]): readonly string[] {
  return fields.some(namesFields)
    ? listMembers(fields, 'connection').filter((name) => !NEVER.has(name))
    : NONE;
}

/** What nearly every `Connection` field says names no field. */
function namesFields(field: Field): boolean {
  return field.is('connection') && !field.hasValue('keep-alive') && !field.hasValue('close');
}

/** @param named of the same message, from {@link namedByConnection} */
export function isHopByHop(field: Field, named: readonly string[]): boolean {
  return (
    field.is('connection') ||
    field.is('keep-alive') ||
    field.is('proxy-connection') ||
    field.is('upgrade') ||
    (named.length > 0 && named.includes(field.lower))
  );
}
