/** Validates edited and imported requests: the relay must be able to forward them, and the log to record them completely. */
import { tokenEnd, valueEnd } from '../../../shared/http1/fields.ts';
import { REDACTED } from '../../../shared/version.ts';
import { type Message, MessageError, type MessageValue, toMessage } from '../messages.ts';
import { textIn } from './readable.ts';
import { fieldValues, type RequestDetail, RECORDED_BODY_MAX_BYTES } from './records.ts';
import { redactField, redactTarget } from './redaction.ts';

/** Maximum length of an edited request's method: the longest registered method has 17. */
export const EDITED_METHOD_MAX_CHARS = 32;
/** Maximum length of an edited request's path, including its query: the relay's limit for visitors. */
export const EDITED_TARGET_MAX_CHARS = 8 * 1024;
/** Maximum number of header fields in an edited request: the relay accepts 200 from a visitor, and adds some. */
export const EDITED_FIELDS_MAX = 256;
/**
 * Maximum size of an edited request's headers: that of a visitor's, so that head and target are recorded
 * completely.
 */
export const EDITED_HEAD_MAX_BYTES = 32 * 1024;

const KIB = 1024;

/** All problems of a request, in the order of its parts. Without problems, it can be sent. */
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

/** Whether a header is valid. */
export function isWritable(name: string, value: string): boolean {
  return nameFault(name) === undefined && valueFault(name, value) === undefined;
}

function problem(part: string, said: Message | undefined): EditProblem | undefined {
  return said === undefined ? undefined : { part, said };
}

function methodFault(method: string): Message | undefined {
  if (!isToken(method) || method.length > EDITED_METHOD_MAX_CHARS)
    return toMessage('edit.method', { max: EDITED_METHOD_MAX_CHARS });
  if (method === 'CONNECT') return toMessage('edit.connect');
  return undefined;
}

function targetFault({ method, target }: RequestEdit): Message | undefined {
  if (target.length > EDITED_TARGET_MAX_CHARS)
    return toMessage('edit.longPath', { max: EDITED_TARGET_MAX_CHARS, length: target.length });
  if (target === '*' && method === 'OPTIONS') return undefined;
  if (/[\r\n]/.test(target)) return toMessage('edit.pathLines');
  if (!/^\/[!-~]*$/.test(target) || target.includes('#')) return toMessage('edit.path');
  return undefined;
}

function fieldsFault({ fields }: RequestEdit): Message | undefined {
  if (fields.length > EDITED_FIELDS_MAX)
    return toMessage('edit.manyHeaders', { max: EDITED_FIELDS_MAX, count: fields.length });
  const bytes = fields.reduce((sum, [name, value]) => sum + name.length + fieldBytes(value).length + 4, 0);
  return bytes > EDITED_HEAD_MAX_BYTES
    ? toMessage('edit.largeHeaders', { max: EDITED_HEAD_MAX_BYTES / KIB, size: Math.ceil(bytes / KIB) })
    : undefined;
}

function nameFault(name: string): Message | undefined {
  if (isOwnField(name)) return toMessage('edit.ownHeader', { name });
  if (!isToken(name)) return toMessage('edit.headerName', { name: shown(name) });
  return undefined;
}

function valueFault(name: string, value: string): Message | undefined {
  if (/[\r\n]/.test(value)) return toMessage('edit.valueLines', { name: shown(name) });
  const bytes = fieldBytes(value);
  return valueEnd(bytes, 0) < bytes.length
    ? toMessage('edit.valueControls', { name: shown(name) })
    : undefined;
}

function bodyFault(body: Uint8Array | undefined): Message | undefined {
  if (body === undefined || body.length <= RECORDED_BODY_MAX_BYTES) return undefined;
  return toMessage('edit.largeBody', {
    max: RECORDED_BODY_MAX_BYTES / KIB,
    size: Math.ceil(body.length / KIB),
  });
}

function isToken(text: string): boolean {
  const bytes = fieldBytes(text);
  return text !== '' && tokenEnd(bytes, 0) === bytes.length;
}

/** An invalid name may be long, and contain anything. */
function shown(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}

/** Methods whose requests declare a missing body with a length of 0 (RFC 9110 section 8.6). */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const NOTHING = Buffer.alloc(0);

/**
 * An HTTP/1.1 request as bytes. A request without {@link checkEdit} problems becomes exactly one request.
 *
 * @param host value of the `Host` field
 */
export function composeRequest({ method, target, fields, body }: RequestEdit, host: string): Buffer {
  const pieces: Buffer[] = [Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n`, 'latin1')];
  for (const [name, value] of fields)
    pieces.push(Buffer.from(`${name}: `, 'latin1'), fieldBytes(value), Buffer.from('\r\n'));
  const length = body?.length ?? 0;
  if (length > 0 || WITH_CONTENT.has(method)) pieces.push(Buffer.from(`Content-Length: ${length}\r\n`));
  return Buffer.concat([...pieces, Buffer.from('\r\n'), body ?? NOTHING]);
}

/**
 * The bytes of an edited request, with the Host of the recorded one.
 *
 * @param original with its secrets, which replace `[redacted]` in the edited request
 * @throws EditRefused
 */
export function editedRequest(original: RequestDetail, edit: RequestEdit): Buffer {
  const { edit: restored, problems } = restoreSecrets(edit, original);
  const all = [...problems, ...checkEdit(restored)];
  if (all.length > 0) throw new EditRefused(all);
  const [host = ''] = fieldValues(original.request, 'host');
  return composeRequest({ ...restored, body: edit.body ?? original.request.body }, host);
}

/** A recorded request in the form it has before editing: without generated fields, and with its body. */
export function editable({ method, target, request }: RequestDetail): RequestEdit {
  return {
    method,
    target: percentEncoded(target),
    fields: request.fields.filter(([name]) => !isOwnField(name)),
    body: undefined,
  };
}

/** The body as editable text; `undefined` if it is not text. */
export function editableText(body: Uint8Array): string | undefined {
  return textIn(body) === undefined ? undefined : Buffer.from(body).toString();
}

/** The same address in visible ASCII: a recorded target has one character per byte. */
export function percentEncoded(target: string): string {
  return target.replace(
    /[^!-~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/**
 * The bytes of a field value. Recorded values have one character per byte. A value with characters above U+00FF was
 * typed by a user, and is sent as UTF-8.
 */
export function fieldBytes(value: string): Buffer {
  const isBytes = !/[^\0-\u00ff]/.test(value);
  return Buffer.from(value, isBytes ? 'latin1' : 'utf8');
}

/**
 * Fields about routing, framing or the connection of a message. They are derived from the rest of the request, so users
 * do not edit them (RFC 9110 sections 7.2, 7.6.1 and 8.6, RFC 9112 section 6).
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

/** Whether culvert generates this field of an edited request. */
export function isOwnField(name: string): boolean {
  return OWN_FIELDS.has(name.toLowerCase());
}

/* A request written by a user, to be sent to the local service. */

export interface RequestEdit {
  readonly method: string;
  /** path and query */
  readonly target: string;
  /** in order; values with one character per byte, or with characters above U+00FF as text, which is sent as UTF-8 */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** `undefined` keeps the body of the original request */
  readonly body: Uint8Array | undefined;
}

/** A problem with one part of a request. */
interface EditProblem {
  /** `method`, `target`, `fields`, `fields.0.name`, `fields.0.value` and so on, or `body` */
  readonly part: string;
  /** a sentence that names the part, its limit and what it accepts */
  readonly said: Message;
}

/** Thrown for an invalid request, which is not sent. */
export class EditRefused extends MessageError {
  readonly problems: readonly EditProblem[];

  constructor(problems: readonly EditProblem[]) {
    super(
      problems.map(({ said }) => said),
      { code: 'edit-refused' },
    );
    this.name = 'EditRefused';
    this.problems = problems;
  }
}

/** The request with its secrets, or the placeholder of an unknown secret. */
interface Restored {
  readonly edit: RequestEdit;
  readonly problems: readonly EditProblem[];
}

/**
 * Replaces `[redacted]` in an edited request with the secrets of the recorded one, so that users need not see them. A
 * secret is restored only in the field and under the key that it had.
 *
 * @param original with its secrets
 */
function restoreSecrets(edit: RequestEdit, original: RequestDetail): Restored {
  const problems: EditProblem[] = [];
  const known = new KnownSecrets(original);
  const restore = (part: string, place: string) => (key: string, text: string) => {
    if (text !== REDACTED) return text;
    const secret = known.take(place, key);
    if (secret !== undefined) return place === '' ? percentEncoded(secret) : secret;
    refuse(part, place);
    return text;
  };
  function refuse(part: string, place: string): void {
    const values = { mark: REDACTED, id: original.id };
    problems.push({
      part,
      said:
        place === ''
          ? toMessage('edit.noSecretInPath', values)
          : toMessage('edit.noSecretInHeader', { ...values, name: place }),
    });
  }
  const target = redactTarget(edit.target, restore('target', ''));
  if (!isHidden(redactTarget, edit.target, target)) refuse('target', '');
  const fields = edit.fields.map(([name, value], index) => {
    const part = `fields.${index}.value`;
    const redact = (text: string, write?: Parameters<typeof redactTarget>[1]): string =>
      redactField(name, text, write);
    const restored = redact(value, restore(part, name.toLowerCase()));
    if (!isHidden(redact, value, restored)) refuse(part, name.toLowerCase());
    return [name, restored] as const;
  });
  return { edit: { ...edit, target, fields }, problems };
}

/**
 * Whether all of a restored secret is hidden again when the request is shown. At another place of the same field or
 * address, a part of it may look like something else.
 */
function isHidden(redact: (text: string) => string, edited: string, restored: string): boolean {
  return restored === edited || redact(restored) === redact(edited);
}

/** Secrets of a request by position, in their order. */
class KnownSecrets {
  readonly #secrets = new Map<string, string[]>();

  constructor({ target, request }: RequestDetail) {
    redactTarget(target, this.#keep(''));
    for (const [name, value] of request.fields) redactField(name, value, this.#keep(name.toLowerCase()));
  }

  take(place: string, key: string): string | undefined {
    return this.#secrets.get(`${place} ${key.trim()}`)?.shift();
  }

  #keep(place: string): (key: string, secret: string) => string {
    return (key, secret) => {
      const id = `${place} ${key.trim()}`;
      const secrets = this.#secrets.get(id);
      if (secrets === undefined) this.#secrets.set(id, [secret]);
      else secrets.push(secret);
      return secret;
    };
  }
}

/** A request from elsewhere, in the form in which it is added to the request log. */
export interface ImportedRequest extends RequestEdit {
  readonly body: Uint8Array;
  /** the body was longer than this */
  readonly isCut: boolean;
  /** the response it got, if known */
  readonly response: ImportedResponse | undefined;
}

export interface ImportedResponse {
  readonly status: number;
  readonly reason: string;
  /** without fields about the message's framing */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** as shown: without content coding */
  readonly body: Uint8Array;
  readonly isCut: boolean;
  /** ms until the response was complete */
  readonly durationMs: number;
}

/** Thrown for a malformed text. The message for people describes where, and what is accepted. */
export class ImportRefused extends MessageError {
  constructor(said: MessageValue) {
    super(said, { code: 'not-imported' });
    this.name = 'ImportRefused';
  }
}

/** Path and query of an address in visible ASCII, without its fragment and otherwise unchanged. */
export function targetOf(url: string): string {
  const [, rest = ''] = /^(?:[a-z][a-z\d+.-]*:)?(?:\/\/)?[^/?#]*([^#]*)/i.exec(url) ?? [];
  const target = rest.replace(/[^!-~]+/g, (text) => encode(text));
  return target.startsWith('/') ? target : `/${target}`;
}

function encode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
