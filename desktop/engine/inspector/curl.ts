import { isUtf8 } from 'node:buffer';
import type { RequestDetail } from './records.ts';
import { quoteBytes, quoteWord } from './shell-quote.ts';

/** Fields that curl writes itself, or that a relay or a proxy adds. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'accept-encoding',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

/** Fields that curl writes unless it is told not to. */
const USUAL_FIELDS = ['User-Agent', 'Accept'];
/** Before a command whose body is not all that there was. */
export const CUT_NOTICE = '# The body is longer than what was kept of it.\n';

/**
 * A `curl` command for a POSIX shell that sends a recorded request again. What is redacted in `detail` is redacted in it.
 *
 * @param origin scheme and authority to send it to, such as the tunnel's `public_url`
 */
export function curlCommand({ method, request }: RequestDetail, origin: string): string {
  const [, target = '/'] = request.startLine.split(' ');
  const isPath = target.startsWith('/');
  const body = Buffer.from(request.body);
  const words = [
    'curl',
    // Brackets and dots in the address are meant literally.
    '--globoff --path-as-is',
    ...methodWords(method, body.length > 0),
    quoteBytes(Buffer.from(origin.replace(/\/$/, '') + (isPath ? target : ''), 'latin1')),
    ...(isPath ? [] : [`--request-target ${quoteBytes(Buffer.from(target, 'latin1'))}`]),
  ];
  if (request.fields.some(([name]) => name.toLowerCase() === 'accept-encoding')) words.push('--compressed');
  for (const [name, value] of request.fields) {
    if (OWN_FIELDS.has(name.toLowerCase())) continue;
    // curl drops a field that ends in a colon; a semicolon makes it an empty field.
    const field = value === '' ? `${name};` : `${name}: ${value}`;
    words.push(`--header ${quoteBytes(Buffer.from(field, 'latin1'))}`);
  }
  for (const name of body.length > 0 ? [...USUAL_FIELDS, 'Content-Type'] : USUAL_FIELDS)
    if (!request.fields.some(([given]) => given.toLowerCase() === name.toLowerCase()))
      words.push(`--header ${quoteWord(`${name}:`)}`);
  const notice = request.isTruncated ? CUT_NOTICE : '';
  return notice + withBody(words, body);
}

function methodWords(method: string, hasBody: boolean): string[] {
  if (method === 'HEAD') return ['--head'];
  return method === (hasBody ? 'POST' : 'GET') ? [] : [`--request ${quoteWord(method)}`];
}

function withBody(words: readonly string[], body: Buffer): string {
  if (body.length === 0) return lines(words);
  if (isUtf8(body) && !body.includes(0)) return lines([...words, `--data-raw ${quoteWord(body.toString())}`]);
  // A shell word cannot carry every byte.
  return `echo ${body.toString('base64')} | base64 -d | ${lines([...words, '--data-binary @-'])}`;
}

/** One command, spread over several lines. */
function lines(words: readonly string[]): string {
  return words.join(' \\\n  ');
}
