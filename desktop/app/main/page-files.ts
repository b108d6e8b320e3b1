/** The files of the built renderer, as the app's own scheme and the server for browsers give them to the page. */
import { extname } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

interface PageFile {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param read reads a file of the built renderer
 * @param pathname of the URL, as it was sent
 * @param policy see {@link contentSecurityPolicy}
 * @returns `undefined` for anything that is not one of its files
 */
export async function readPageFile(
  read: (name: string) => Buffer | Promise<Buffer>,
  pathname: string,
  policy: string,
): Promise<PageFile | undefined> {
  const type = TYPES[extname(pathname)];
  // One flat directory: a path with another slash, or with anything encoded, is not one of its files.
  if (type === undefined || !/^\/[\w-]+\.\w+$/.test(pathname)) return undefined;
  try {
    return { body: await read(pathname.slice(1)), headers: headersOf(type, policy) };
  } catch {
    return undefined;
  }
}

function headersOf(type: string, policy: string): Record<string, string> {
  return {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}

/**
 * The Content-Security-Policy of the page, sent as a header: only the page's own files, no inline code or style, no
 * frames, no forms.
 *
 * @param connect what the page may connect to
 */
export function contentSecurityPolicy(connect: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The one of screens/body/previews.tsx.
    'trusted-types inert-html',
  ].join('; ');
}

/** The policy in the app, whose page has no network. */
export const CONTENT_SECURITY_POLICY = contentSecurityPolicy("'none'");
