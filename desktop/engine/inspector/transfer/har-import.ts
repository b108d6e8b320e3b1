/** Reads an HTTP archive, of whichever program, as requests with their responses. */
import { array, boolean, type InferType, number, object, string, ValidationError } from 'yup';
import { say } from '../../said/said.ts';
import { isOwnField } from '../editing/own-fields.ts';
import { type ImportedRequest, type ImportedResponse, ImportRefused } from './imported.ts';
import { targetOf } from './target-of.ts';

const word = () => string().strict().defined();
const pairList = () => array(object({ name: word(), value: word() })).strict();
const BODY = object({
  text: string().strict(),
  encoding: string().strict(),
  _encoding: string().strict(),
  _truncated: boolean().strict(),
});
const ENTRY = object({
  time: number().strict(),
  request: object({
    method: word(),
    url: word(),
    headers: pairList().required(),
    postData: BODY.shape({ params: pairList().optional() }).default(undefined).nullable(),
  }).required(),
  response: object({
    status: number().strict().integer(),
    statusText: string().strict(),
    headers: pairList().optional(),
    content: BODY.default(undefined).nullable(),
  }).default(undefined),
});
const HAR = object({ log: object({ entries: array().strict().required() }).required() });

/** What yup calls a field that is not there. */
const MISSING = new Set<string | undefined>(['optionality', 'nullable', 'required']);

type Entry = InferType<typeof ENTRY>;
type Body = InferType<typeof BODY>;

/**
 * Custom fields tell what HAR has no words for (har.ts); others' are ignored. Files that it may name are not read.
 *
 * Reads one request after the other, in their order.
 *
 * @throws ImportRefused
 */
export function* importHar(text: string): Generator<ImportedRequest> {
  const { entries } = checked('', HAR, parsed(text)).log;
  for (const [index, entry] of entries.entries())
    yield importedOf(checked(`log.entries[${index}].`, ENTRY, entry));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ImportRefused(say('import.notJson'));
  }
}

function checked<T>(place: string, schema: { validateSync(value: unknown): T }, value: unknown): T {
  try {
    return schema.validateSync(value);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    // Not its message, which shows the value, however large.
    const field = `${place}${error.path ?? ''}`.replace(/\.$/, '') || 'log';
    if (MISSING.has(error.type)) throw new ImportRefused(say('import.harMissing', { field }));
    const wanted = error.params?.['type'];
    const type = typeof wanted === 'string' ? wanted : (error.type ?? '');
    throw new ImportRefused(say('import.harType', { field, type }));
  }
}

function importedOf({ request, response, time }: Entry): ImportedRequest {
  const { method, url, headers, postData } = request;
  return {
    method,
    target: targetOf(url),
    fields: fieldsOf(headers).filter(([name]) => !isOwnField(name)),
    body: bytesOf(postData) ?? formOf(postData?.params ?? []),
    isCut: postData?.['_truncated'] === true,
    response: responseOf(response, time ?? 0),
  };
}

function responseOf(
  response: Entry['response'] | undefined,
  durationMs: number,
): ImportedResponse | undefined {
  const { status = 0, statusText = '', headers = [], content } = response ?? {};
  if (status < 100 || status > 999) return undefined;
  return {
    status,
    reason: statusText,
    fields: fieldsOf(headers).filter(
      ([name]) => !isOwnField(name) && name.toLowerCase() !== 'content-encoding',
    ),
    body: bytesOf(content) ?? new Uint8Array(),
    isCut: content?.['_truncated'] === true,
    durationMs: Math.max(0, durationMs),
  };
}

/** Without the pseudo-headers of HTTP/2, which browsers write among the others. */
function fieldsOf(pairs: readonly { name: string; value: string }[]): [string, string][] {
  return pairs.filter(({ name }) => !name.startsWith(':')).map(({ name, value }) => [name, value]);
}

function bytesOf(content: Body | null | undefined): Uint8Array | undefined {
  if (content?.text === undefined) return undefined;
  const encoding = content.encoding ?? content['_encoding'];
  return Uint8Array.from(Buffer.from(content.text, encoding === 'base64' ? 'base64' : 'utf8'));
}

/** A form of which only the parameters were written down. */
function formOf(params: readonly { name: string; value: string }[]): Uint8Array {
  return new TextEncoder().encode(
    new URLSearchParams(params.map(({ name, value }): [string, string] => [name, value])).toString(),
  );
}
