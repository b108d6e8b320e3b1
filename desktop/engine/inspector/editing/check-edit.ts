/** What a request may be that somebody has written: what the relay would hand on, and what is recorded whole. */
import { tokenEnd, valueEnd } from '../../../../shared/http1/characters.ts';
import {
  EDITED_FIELDS_MAX,
  EDITED_HEAD_MAX_BYTES,
  EDITED_METHOD_MAX_CHARS,
  EDITED_TARGET_MAX_CHARS,
  RECORDED_BODY_MAX_BYTES,
} from '../../limits.ts';
import { fieldBytes } from './field-bytes.ts';
import { isOwnField } from './own-fields.ts';
import type { EditProblem, RequestEdit } from './request-edit.ts';

const KIB = 1024;

/** Everything that is wrong with a request, in the order in which it is written; none: it can be sent. */
export function checkEdit(edit: RequestEdit): EditProblem[] {
  const { fields, body } = edit;
  const problems = [
    problem('method', methodFault(edit.method)),
    problem('target', targetFault(edit)),
    problem('fields', fieldsFault(edit)),
    ...fields.flatMap(([name, value], index) => [
      problem(`fields.${index}.name`, nameFault(name)),
      problem(`fields.${index}.value`, valueFault(name, value)),
    ]),
    problem('body', bodyFault(body)),
  ];
  return problems.filter((found) => found !== undefined);
}

/** Whether a header can be written so. */
export function isWritable(name: string, value: string): boolean {
  return nameFault(name) === undefined && valueFault(name, value) === undefined;
}

function problem(part: string, text: string | undefined): EditProblem | undefined {
  return text === undefined ? undefined : { part, text };
}

function methodFault(method: string): string | undefined {
  if (!isToken(method) || method.length > EDITED_METHOD_MAX_CHARS)
    return `The method takes 1 to ${EDITED_METHOD_MAX_CHARS} letters, digits and hyphens, such as POST.`;
  if (method === 'CONNECT') return 'The method takes any but CONNECT, which is for proxies.';
  return undefined;
}

function targetFault({ method, target }: RequestEdit): string | undefined {
  if (target.length > EDITED_TARGET_MAX_CHARS)
    return `The path takes ${EDITED_TARGET_MAX_CHARS} characters with its query; this one has ${target.length}.`;
  if (target === '*' && method === 'OPTIONS') return undefined;
  if (/[\r\n]/.test(target)) return 'The path takes no line break.';
  if (!/^\/[!-~]*$/.test(target) || target.includes('#'))
    return 'The path begins with / and takes visible ASCII other than #; write anything else as %, such as %20 for a space.';
  return undefined;
}

function fieldsFault({ fields }: RequestEdit): string | undefined {
  if (fields.length > EDITED_FIELDS_MAX)
    return `A request takes ${EDITED_FIELDS_MAX} headers; this one has ${fields.length}.`;
  const bytes = fields.reduce((sum, [name, value]) => sum + name.length + fieldBytes(value).length + 4, 0);
  return bytes > EDITED_HEAD_MAX_BYTES
    ? `The headers take ${EDITED_HEAD_MAX_BYTES / KIB} KiB together; these have ${Math.ceil(bytes / KIB)} KiB.`
    : undefined;
}

function nameFault(name: string): string | undefined {
  if (isOwnField(name)) return `The header ${name} is written by culvert, from the rest of the request.`;
  if (!isToken(name))
    return `The name of a header takes letters, digits and hyphens, without spaces; not "${shown(name)}".`;
  return undefined;
}

function valueFault(name: string, value: string): string | undefined {
  if (/[\r\n]/.test(value)) return `The value of ${shown(name)} takes no line break.`;
  const bytes = fieldBytes(value);
  return valueEnd(bytes, 0) < bytes.length
    ? `The value of ${shown(name)} takes no control characters.`
    : undefined;
}

function bodyFault(body: Uint8Array | undefined): string | undefined {
  if (body === undefined || body.length <= RECORDED_BODY_MAX_BYTES) return undefined;
  return `The body takes ${RECORDED_BODY_MAX_BYTES / KIB} KiB; this one has ${Math.ceil(body.length / KIB)} KiB.`;
}

function isToken(text: string): boolean {
  const bytes = fieldBytes(text);
  return text !== '' && tokenEnd(bytes, 0) === bytes.length;
}

/** A name that is not one may be long, and anything. */
function shown(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}
