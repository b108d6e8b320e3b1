import type { RecordedMessage } from '../inspector/records.ts';
import type { SignedRequest } from './scheme.ts';

/** A recorded request as its sender has signed it. @param message with the values of its secrets */
export function signedRequest({ startLine, fields, body }: RecordedMessage): SignedRequest {
  const field = (name: string): string | undefined =>
    fields.find(([other]) => other.toLowerCase() === name)?.[1];
  const [, target = ''] = startLine.split(' ');
  // What the relay says of where the request came to; of several proxies, the first was nearest to the visitor.
  const scheme = field('x-forwarded-proto')?.split(',')[0]?.trim() ?? 'http';
  const host = field('x-forwarded-host')?.split(',')[0]?.trim() ?? field('host') ?? '';
  return { url: `${scheme}://${host}${field('x-forwarded-prefix') ?? ''}${target}`, field, body };
}

/** Whether all of the body is there: not cut, and nothing of it still on its way. */
export function hasWholeBody({ fields, body, isTruncated }: RecordedMessage): boolean {
  const length = fields.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  return !isTruncated && (length === undefined || Number(length) === body.length);
}
