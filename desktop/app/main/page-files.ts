/** The files of the built renderer, as the app's own scheme and the server for browsers give them to the page. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

export interface PageFile {
  readonly body: NonSharedBuffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param directory of the built renderer
 * @param pathname of the URL, as it was sent
 * @param policy see {@link contentSecurityPolicy}
 * @returns `undefined` for anything that is not one of its files
 */
export async function readPageFile(
  directory: string,
  pathname: string,
  policy: string,
): Promise<PageFile | undefined> {
  const type = TYPES[extname(pathname)];
  // One flat directory: a path with another slash, or with anything encoded, is not one of its files.
  if (type === undefined || !/^\/[\w-]+\.\w+$/.test(pathname)) return undefined;
  try {
    return { body: await readFile(join(directory, pathname)), headers: headersOf(type, policy) };
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
