import type { RecordedMessage } from '../records.ts';
import { readMessage } from '../request-log.ts';
import { recogniseWebhook, type SignatureView, type WebhookProvider } from '../../webhooks/provider.ts';
import { SCHEMES, type SignedRequest } from './schemes.ts';

/**
 * The result of checking a recorded webhook's signature; `undefined` for any other request.
 *
 * @param request with the real values of its secrets
 * @param arrivedAt arrival time that its timestamp is compared with, in wall-clock ms
 * @param secretsOf the secrets set for a service
 */
export function checkSignature(
  request: RecordedMessage,
  arrivedAt: number,
  secretsOf: (provider: WebhookProvider) => readonly string[],
): SignatureView | undefined {
  const provider = recogniseWebhook(request.fields);
  if (provider === undefined) return undefined;
  const secrets = secretsOf(provider);
  if (secrets.length === 0) return { provider, verdict: 'no-secret' };
  if (!hasWholeBody(request)) return { provider, verdict: 'body-cut' };
  return { provider, verdict: SCHEMES[provider].check(signedRequest(request), secrets, arrivedAt) };
}

/** A recorded request as its sender signed it. @param message with the real values of its secrets */
export function signedRequest({ startLine, fields, body }: RecordedMessage): SignedRequest {
  const field = (name: string): string | undefined =>
    fields.find(([other]) => other.toLowerCase() === name)?.[1];
  const [, target = ''] = startLine.split(' ');
  // The relay reports the visited address; of several proxies, the first was nearest to the visitor.
  const scheme = field('x-forwarded-proto')?.split(',')[0]?.trim() ?? 'http';
  const host = field('x-forwarded-host')?.split(',')[0]?.trim() ?? field('host') ?? '';
  return { url: `${scheme}://${host}${field('x-forwarded-prefix') ?? ''}${target}`, field, body };
}

/** Whether the body is complete: not cut, and fully received. */
function hasWholeBody({ fields, body, isTruncated }: RecordedMessage): boolean {
  const length = fields.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  return !isTruncated && (length === undefined || Number(length) === body.length);
}

const LINE_END = '\r\n';
const HEAD_END = `${LINE_END}${LINE_END}`;

/**
 * A webhook with a new signature that its receiver accepts now. Every other byte stays the same.
 *
 * @param request a complete request, head and body
 * @param secretOf the secret that a service signs with; `undefined` if none is set
 * @param now wall-clock ms
 * @returns `undefined` if the request is not a webhook, or without a secret
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

/** A repeated field is written once, with the new value at the place of the first. */
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
