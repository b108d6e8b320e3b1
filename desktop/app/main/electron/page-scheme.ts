/** The page's own origin: a scheme that serves the files of the renderer and no others, with the policy as a header. */
import type { Protocol } from 'electron';
import { CONTENT_SECURITY_POLICY } from '../../ipc/views.ts';
import { readPageFile } from '../page-files.ts';

export const PAGE_SCHEME = 'culvert-app';
export const PAGE_ORIGIN = `${PAGE_SCHEME}://app`;
export const PAGE_URL = `${PAGE_ORIGIN}/index.html`;

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
  // Only Chromium treats the scheme as one with an origin.
  const from = origin === 'null' ? `${protocol}//${host}` : origin;
  const file =
    from === PAGE_ORIGIN && method === 'GET'
      ? await readPageFile(directory, pathname, CONTENT_SECURITY_POLICY)
      : undefined;
  if (file === undefined) return new Response(undefined, { status: 404 });
  return new Response(file.body, { headers: file.headers });
}
