/** Fields that concern one connection only and are not passed on (RFC 9110 section 7.6.1). */
import { type Field, listMembers } from './fields.ts';

/** Fields that a `Connection` field must not remove: they say where a message goes and where it ends. */
const NEVER = new Set(['host', 'content-length', 'transfer-encoding', 'trailer']);
const NONE: ReadonlySet<string> = new Set();

/**
 * The names of the fields that the `Connection` fields of a message remove, in lower case; passed to {@link isHopByHop}.
 */
export function namedByConnection(fields: readonly Field[]): ReadonlySet<string> {
  if (!fields.some(namesFields)) return NONE;
  const named = new Set(listMembers(fields, 'connection'));
  for (const name of NEVER) named.delete(name);
  return named;
}

/** Nearly every `Connection` field says one of these, which do not name a field. */
function namesFields(field: Field): boolean {
  return field.is('connection') && !field.hasValue('keep-alive') && !field.hasValue('close');
}

/** @param named of the same message, from {@link namedByConnection} */
export function isHopByHop(field: Field, named: ReadonlySet<string>): boolean {
  return isAboutConnection(field) || (named.size > 0 && named.has(field.lower));
}

/** Called for every field that passes, so most are ruled out by the length of their name. */
function isAboutConnection(field: Field): boolean {
  switch (field.nameLength) {
    case 7:
      return field.is('upgrade');
    case 10:
      return field.is('connection') || field.is('keep-alive');
    case 16:
      return field.is('proxy-connection');
    case 18:
      return field.is('proxy-authenticate');
    case 25:
      return field.is('proxy-authentication-info');
    default:
      return false;
  }
}
