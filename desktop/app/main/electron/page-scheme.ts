/** The page's own origin: a scheme that serves the files of the renderer and no others, with the policy as a header. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Protocol } from 'electron';
import { CONTENT_SECURITY_POLICY } from '../../ipc/views.ts';

export const PAGE_SCHEME = 'culvert-app';
export const PAGE_ORIGIN = `${PAGE_SCHEME}://app`;
export const PAGE_URL = `${PAGE_ORIGIN}/index.html`;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Before the app is ready: an origin like https, so that the policy's `'self'` means it. */
export function registerPageScheme(protocol: Pick<Protocol, 'registerSchemesAsPrivileged'>): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: PAGE_SCHEME, privileges: { standard: true, secure: true, codeCache: true } },
  ]);
}

/** @param directory of the built renderer */
export function servePage(protocol: Pick<Protocol, 'handle'>, directory: string): void {
  protocol.handle(PAGE_SCHEME, (request) => answer(request, directory));
}

async function answer({ url, method }: Request, directory: string): Promise<Response> {
  const { origin, protocol, host, pathname } = new URL(url);
  const type = TYPES[extname(pathname)];
  // Only Chromium treats the scheme as one with an origin.
  const from = origin === 'null' ? `${protocol}//${host}` : origin;
  // One flat directory: a path with another slash, or with anything encoded, is not one of its files.
  if (from !== PAGE_ORIGIN || method !== 'GET' || type === undefined || !/^\/[\w-]+\.\w+$/.test(pathname)) {
    return new Response(undefined, { status: 404 });
  }
  try {
    return new Response(await readFile(join(directory, pathname)), { headers: headers(type) });
  } catch {
    return new Response(undefined, { status: 404 });
  }
}

function headers(type: string): Record<string, string> {
  return {
    'content-type': type,
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
