/** Responds with the files of a folder: `send` has media types, ranges and conditions, and what is seen is decided here. */
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import send from 'send';
import { basename, dirname } from 'node:path';
import { FOLDER_LOOKS, type FolderLooks, FolderSilent } from './folder-looks.ts';
import { listingPage } from './listing.ts';
import { findShared, isSameFile, openShared, readTarget, type SharedEntry } from './shared-path.ts';

const INDEX = 'index.html';
const TEXT = 'text/plain; charset=utf-8';
/** A listing loads nothing, and runs nothing. */
const LISTING_FIELDS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
};

/**
 * @param root where the folder really is
 * @param host the `Host` of requests that come through the tunnel; others come from programs and pages of this machine, past
 *   what the tunnel asks of visitors
 * @param looks gives up what does not answer
 */
export function folderHandler(
  root: string,
  host: string,
  looks: Pick<FolderLooks, 'take'> = FOLDER_LOOKS,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    // It may have changed at the next visit, and a tunnel may have a lock.
    response.setHeader('cache-control', 'no-cache');
    if (request.headers.host !== host) return refuse(response, 403);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return refuse(response, 405);
    }
    respond(root, request, response, looks).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, error instanceof FolderSilent ? 503 : 500);
    });
  };
}

async function respond(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  looks: Pick<FolderLooks, 'take'>,
): Promise<void> {
  const { url = '' } = request;
  const names = readTarget(url);
  if (names === undefined) return refuse(response, 400);
  const found = await looks.take(() => findShared(root, names));
  if (found === undefined) return refuse(response, 404);
  const [path = '', ...query] = url.split('?');
  if (!found.isFolder) return path.endsWith('/') ? refuse(response, 404) : sendFile(found, request, response);
  const last = names.at(-1);
  if (last !== undefined && !path.endsWith('/')) {
    // From where the visitor is: behind the path of a relay a tunnel does not begin at "/".
    const search = query.length === 0 ? '' : `?${query.join('?')}`;
    response.setHeader('location', `./${encodeURIComponent(last)}/${search}`);
    return refuse(response, 301);
  }
  const index = await findShared(root, [...names, INDEX]);
  if (index !== undefined && !index.isFolder) return sendFile(index, request, response);
  const page = await listingPage(root, found.path, names);
  response.writeHead(200, { ...LISTING_FIELDS, 'content-length': Buffer.byteLength(page) });
  response.end(request.method === 'HEAD' ? undefined : page);
}

/** Conditions and ranges are those of RFC 9110 sections 13 and 14; several ranges at once get the whole file. */
async function sendFile(
  entry: SharedEntry,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { path } = entry;
  const opened = await openShared(entry);
  if (opened === undefined) return refuse(response, 404);
  // It may be read by a stream until then.
  response.on('close', () => void opened.file.close());
  // `send` looks at the one name only: all others have been looked at, and the folder itself may be below one with a dot.
  const options: send.SendOptions & { readonly fd: FileHandle } = {
    root: dirname(path),
    index: false,
    dotfiles: 'deny',
    cacheControl: false,
    // `send` passes it on to the stream that reads the file.
    fd: opened.file,
  };
  const file = send(request, encodeURIComponent(basename(path)), options);
  file.on('error', (error: { status?: number }) => {
    if (response.headersSent) response.destroy();
    else refuse(response, error.status ?? 500);
  });
  // `send` has looked at the name again, and says what it finds there: it was replaced just now.
  file.on('file', (_path: string, stats: Stats) => {
    if (!isSameFile(stats, opened.stats)) response.destroy();
  });
  file.on('directory', () => refuse(response, 404));
  file.pipe(response);
}

const WORDS: Readonly<Record<number, string>> = {
  301: 'Moved',
  400: 'Bad request',
  403: 'Not through the tunnel',
  404: 'Not found',
  405: 'Read only',
  412: 'Changed meanwhile',
  416: 'No such range',
  503: 'The folder does not answer',
};

function refuse(response: ServerResponse, status: number): void {
  const text = `${WORDS[status] ?? 'Failed'}\n`;
  response.removeHeader('content-encoding');
  response.writeHead(status, { 'content-type': TEXT, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
