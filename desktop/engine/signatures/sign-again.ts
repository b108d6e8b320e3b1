import { readMessage } from '../inspector/messages.ts';
import { recogniseWebhook, type WebhookProvider } from '../webhooks/provider.ts';
import { signedRequest } from './recorded.ts';
import type { SignedRequest } from './scheme.ts';
import { SCHEMES } from './schemes.ts';

const LINE_END = '\r\n';
const HEAD_END = `${LINE_END}${LINE_END}`;

/**
 * A webhook with a new signature, so that its receiver accepts it now; everything else stays as it is, byte for byte.
 *
 * @param request a whole request, head and body
 * @param secretOf the secret that a service signs with; `undefined` if none was set
 * @param now wall-clock ms
 * @returns `undefined` for what is no webhook, and without a secret
 */
export function signAgain(
  request: Buffer,
  secretOf: (provider: WebhookProvider) => string | undefined,
  now: number,
): Buffer | undefined {
  const message = readMessage(request, request.length, { reveal: true });
  const headEnd = request.indexOf(HEAD_END);
  if (message === undefined || headEnd === -1) return undefined;
  const provider = recogniseWebhook(message.fields);
  const secret = provider && secretOf(provider);
  if (provider === undefined || secret === undefined) return undefined;
  const signed = signedRequest(message);
  const { fields, url } = SCHEMES[provider].sign(signed, secret, now);
  const [startLine = '', ...lines] = request.toString('latin1', 0, headEnd).split(LINE_END);
  const head = [retargeted(startLine, signed, url), ...replaced(lines, fields)].join(LINE_END);
  return Buffer.concat([Buffer.from(head, 'latin1'), request.subarray(headEnd)]);
}

function retargeted(startLine: string, { url: before }: SignedRequest, after = before): string {
  const [method = '', target = '', version = ''] = startLine.split(' ');
  // Scheme, host and prefix are the same in both.
  return `${method} ${after.slice(before.length - target.length)} ${version}`;
}

/** A field that is there several times has the new value at the place of the first. */
function replaced(
  lines: readonly string[],
  fields: readonly (readonly [name: string, value: string])[],
): string[] {
  const left = new Map(fields);
  const names = new Set(left.keys());
  const kept = lines.flatMap((line) => {
    const name = line.slice(0, line.indexOf(':'));
    const lower = name.toLowerCase();
    if (!names.has(lower)) return [line];
    const value = left.get(lower);
    left.delete(lower);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [...kept, ...[...left].map(([name, value]) => `${name}: ${value}`)];
}
