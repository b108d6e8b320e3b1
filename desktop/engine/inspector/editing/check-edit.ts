/** What a request may be that somebody has written: what the relay would hand on, and what is recorded whole. */
import { tokenEnd, valueEnd } from '../../../../shared/http1/characters.ts';
import {
  EDITED_FIELDS_MAX,
  EDITED_HEAD_MAX_BYTES,
  EDITED_METHOD_MAX_CHARS,
  EDITED_TARGET_MAX_CHARS,
  RECORDED_BODY_MAX_BYTES,
} from '../../limits.ts';
import { type Said, say } from '../../said/said.ts';
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

function problem(part: string, said: Said | undefined): EditProblem | undefined {
  return said === undefined ? undefined : { part, said };
}

function methodFault(method: string): Said | undefined {
  if (!isToken(method) || method.length > EDITED_METHOD_MAX_CHARS)
    return say('edit.method', { max: EDITED_METHOD_MAX_CHARS });
  if (method === 'CONNECT') return say('edit.connect');
  return undefined;
}

function targetFault({ method, target }: RequestEdit): Said | undefined {
  if (target.length > EDITED_TARGET_MAX_CHARS)
    return say('edit.longPath', { max: EDITED_TARGET_MAX_CHARS, length: target.length });
  if (target === '*' && method === 'OPTIONS') return undefined;
  if (/[\r\n]/.test(target)) return say('edit.pathLines');
  if (!/^\/[!-~]*$/.test(target) || target.includes('#')) return say('edit.path');
  return undefined;
}

function fieldsFault({ fields }: RequestEdit): Said | undefined {
  if (fields.length > EDITED_FIELDS_MAX)
    return say('edit.manyHeaders', { max: EDITED_FIELDS_MAX, count: fields.length });
  const bytes = fields.reduce((sum, [name, value]) => sum + name.length + fieldBytes(value).length + 4, 0);
  return bytes > EDITED_HEAD_MAX_BYTES
    ? say('edit.largeHeaders', { max: EDITED_HEAD_MAX_BYTES / KIB, size: Math.ceil(bytes / KIB) })
    : undefined;
}

function nameFault(name: string): Said | undefined {
  if (isOwnField(name)) return say('edit.ownHeader', { name });
  if (!isToken(name)) return say('edit.headerName', { name: shown(name) });
  return undefined;
}

function valueFault(name: string, value: string): Said | undefined {
  if (/[\r\n]/.test(value)) return say('edit.valueLines', { name: shown(name) });
  const bytes = fieldBytes(value);
  return valueEnd(bytes, 0) < bytes.length ? say('edit.valueControls', { name: shown(name) }) : undefined;
}

function bodyFault(body: Uint8Array | undefined): Said | undefined {
  if (body === undefined || body.length <= RECORDED_BODY_MAX_BYTES) return undefined;
  return say('edit.largeBody', { max: RECORDED_BODY_MAX_BYTES / KIB, size: Math.ceil(body.length / KIB) });
}

function isToken(text: string): boolean {
  const bytes = fieldBytes(text);
  return text !== '' && tokenEnd(bytes, 0) === bytes.length;
}

/** A name that is not one may be long, and anything. */
function shown(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}
