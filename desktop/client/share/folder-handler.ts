/**
 * Serves the files of a folder. `send` handles media types, ranges and conditions; this file decides what is visible.
 */
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname } from 'node:path';
import send from 'send';
import { prefersHtml } from '../../../shared/http1/fields.ts';
import { page, PAGE_STYLE, RETRY_HTML, RETRY_SECONDS } from '../../../shared/page.ts';
import { type Clock, systemClock } from '../clock.ts';
import { LISTING_FIELDS, listingPage } from './listing.ts';
import { findShared, openShared, readTarget, type SharedEntry, type SharedRoot } from './shared-path.ts';

const INDEX = 'index.html';
const HTML = 'text/html; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
/**
 * @param root the folder
 * @param host the `Host` of requests through the tunnel; all other requests come from programs and pages of this
 *   machine, which bypass the access policy of the tunnel
 * @param looks gives up on folders that do not answer
 */
export function folderHandler(
  root: SharedRoot,
  host: string,
  looks: Pick<FolderLooks, 'take'> = FOLDER_LOOKS,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    // The file may have changed by the next visit, and the tunnel may have an access policy.
    response.setHeader('cache-control', 'no-cache');
    if (request.headers.host !== host) return refuse(response, 403);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return refuse(response, 405);
    }
    respond(root, request, response, looks).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else refuse(response, error instanceof FolderSilent ? 503 : 500);
    });
  };
}

async function respond(
  root: SharedRoot,
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
  if (!found.isFolder)
    return path.endsWith('/') ? refuse(response, 404) : sendFile(found, request, response, looks);
  const last = names.at(-1);
  if (last !== undefined && !path.endsWith('/')) {
    // Relative to the visited address: behind the path of a relay, a tunnel does not begin at "/".
    const search = query.length === 0 ? '' : `?${query.join('?')}`;
    response.setHeader('location', `./${encodeURIComponent(last)}/${search}`);
    return refuse(response, 301);
  }
  const index = await looks.take(() => findShared(root, [...names, INDEX]));
  if (index !== undefined && !index.isFolder) return sendFile(index, request, response, looks);
  const html = await looks.take(() => listingPage(root, found.path, path));
  response.writeHead(200, { ...LISTING_FIELDS, 'content-length': Buffer.byteLength(html) });
  response.end(request.method === 'HEAD' ? undefined : html);
}

/**
 * Opens a file, sends it and closes it. Nothing else holds the file, so no visitor can leave it open or, by leaving,
 * close it during a read. Conditions and ranges follow RFC 9110 sections 13 and 14; a request for several ranges gets
 * the whole file.
 */
async function sendFile(
  entry: SharedEntry,
  request: IncomingMessage,
  response: ServerResponse,
  looks: Pick<FolderLooks, 'take'>,
): Promise<void> {
  const opened = await looks.take(
    () => openShared(entry),
    (late) => void late?.file.close().catch(() => {}),
  );
  if (opened === undefined) return refuse(response, 404);
  const { file, stats } = opened;
  try {
    const part = writeHead(entry, stats, request, response);
    if (part !== undefined) await sendPart(file, part, response, looks);
  } finally {
    await file.close();
  }
}

/** The bytes of a file to send. */
interface FilePart {
  readonly start: number;
  readonly length: number;
}

/**
 * Writes the head of a response with a file, which completes a response without content.
 *
 * @returns the bytes of the file that belong to the response
 */
function writeHead(
  { path }: SharedEntry,
  stats: Stats,
  request: IncomingMessage,
  response: ServerResponse,
): FilePart | undefined {
  let part: FilePart | undefined;
  // `send` sees only the last name: the others have been checked, and the folder itself may be below one with a dot.
  const file = send(request, encodeURIComponent(basename(path)), {
    root: dirname(path),
    index: false,
    dotfiles: 'deny',
    cacheControl: false,
  });
  Object.assign(file, {
    // Sends the file that was opened, not one that has its name by now.
    sendFile: () => file.send(path, stats),
    stream: (_path: string, { start }: { start: number }) => {
      part = { start, length: Number(response.getHeader('content-length')) };
    },
  });
  file.on('error', (error: { status?: number }) => refuse(response, error.status ?? 500));
  file.pipe(response);
  return part;
}

/**
 * Reads part of a file at the visitor's speed, and stops when the visitor has left. A response that cannot be completed
 * breaks off.
 *
 * @returns when the file is no longer being read
 */
async function sendPart(
  file: FileHandle,
  { start, length }: FilePart,
  response: ServerResponse,
  looks: Pick<FolderLooks, 'take'>,
): Promise<void> {
  for (let sent = 0; sent < length && !isGone(response);) {
    const room = Buffer.allocUnsafe(Math.min(SHARE_READ_BYTES, length - sent));
    const reading = file.read(room, 0, room.length, start + sent);
    try {
      const { bytesRead } = await looks.take(() => reading);
      // The file has become shorter since its length was sent.
      if (bytesRead === 0) return void response.destroy();
      sent += bytesRead;
      if (!response.write(room.subarray(0, bytesRead))) await roomIn(response);
    } catch (error) {
      response.destroy();
      // The read may continue after it was given up, and the file is closed next.
      await reading.catch(() => {});
      throw error;
    }
  }
  response.end();
}

/**
 * Waits until a visitor has read the data, or has left. A response queued after another has no connection of its own
 * yet.
 */
function roomIn(response: ServerResponse): Promise<void> {
  const { socket } = response.req;
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle);
      socket.off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
    socket.on('close', settle);
    if (isGone(response)) settle();
  });
}

function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed;
}

const WORDS: Readonly<Record<number, string>> = {
  301: 'Moved',
  400: 'Bad request',
  403: 'Not through the tunnel',
  404: 'Not found',
  405: 'Read only',
  412: 'The file has changed in the meantime',
  416: 'The file has no such range',
  503: 'The folder does not respond',
};

/** What people read instead of {@link WORDS} where a browser may come to by itself. */
const PAGES: Readonly<Record<number, { title: string; text: string }>> = {
  400: { title: 'Bad request', text: 'This address is not valid. It may have been copied incompletely.' },
  404: {
    title: 'Not found',
    text: 'There is no file or folder at this address. It may have been moved, renamed or deleted.',
  },
  500: { title: 'This file cannot be read', text: 'The computer that shares it could not read it.' },
  503: {
    title: 'The folder does not respond',
    text: 'The drive or server that contains this folder does not respond right now.',
  },
};
const PAGE_STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${PAGE_STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** Responds with a page if the visitor prefers one, else with a line of text. */
function refuse(response: ServerResponse, status: number): void {
  const { headers, method, url = '' } = response.req;
  const said = PAGES[status];
  const isPage = said !== undefined && prefersHtml(headers.accept);
  const retries = isPage && status === 503 && method === 'GET';
  const text = isPage
    ? page(said.title, `<p>${said.text}</p>\n${wayOn(status, url, retries)}`, `Error ${status}`, undefined)
    : `${WORDS[status] ?? 'Failed'}\n`;
  response.removeHeader('content-encoding');
  if (said !== undefined) response.setHeader('vary', 'Accept');
  if (retries) response.setHeader('refresh', RETRY_SECONDS);
  if (isPage) response.setHeader('content-security-policy', PAGE_POLICY);
  response.writeHead(status, {
    'content-type': isPage ? HTML : TEXT,
    'content-length': Buffer.byteLength(text),
  });
  response.end(method === 'HEAD' ? undefined : text);
}

/** @returns HTML that says what to do next */
function wayOn(status: number, url: string, retries: boolean): string {
  if (retries) return RETRY_HTML;
  if (status !== 404) return '';
  // Relative to the visited address, as for the redirect above.
  const above = '../'.repeat(Math.max(0, (url.split('?', 1)[0] ?? '').split('/').length - 2));
  return `<p><a class="go" href="./${above}">Open the shared folder</a></p>`;
}

/* Queries folders that may never answer, such as on a server that is gone. */

/** The folder has not answered in time. */
export class FolderSilent extends Error {}

export class FolderLooks {
  readonly #clock: Pick<Clock, 'setTimeout'>;
  /** queries that were given up and still occupy a thread */
  #silent = 0;

  constructor(clock: Pick<Clock, 'setTimeout'> = systemClock) {
    this.#clock = clock;
  }

  /**
   * @param look queries the file system
   * @param release frees the result of a query that was given up
   * @returns the result of the query
   * @throws FolderSilent if the query takes more than {@link FOLDER_ANSWER_MS}, or while {@link SILENT_FOLDERS_MAX}
   *   others are overdue; the errors of the query
   */
  async take<T>(look: () => Promise<T>, release: (late: T) => void = () => {}): Promise<T> {
    if (this.#silent >= SILENT_FOLDERS_MAX) throw new FolderSilent();
    const tooLate = Promise.withResolvers<never>();
    let isLate = false;
    const timer = this.#clock.setTimeout(() => {
      isLate = true;
      this.#silent += 1;
      tooLate.reject(new FolderSilent());
    }, FOLDER_ANSWER_MS);
    const looked = look().finally(() => {
      timer.cancel();
      if (isLate) this.#silent -= 1;
    });
    return Promise.race([
      looked.then((found) => {
        if (isLate) release(found);
        return found;
      }),
      tooLate.promise,
    ]);
  }
}

/** Shared by this process, which has only a few threads for files. */
export const FOLDER_LOOKS = new FolderLooks();

/** Limits of shared folders, with their reasons. */

/**
 * How long the file system may take to respond when a visitor opens a shared folder. A disk that has to spin up takes
 * seconds; a server that is gone never answers. @limit
 */
export const FOLDER_ANSWER_MS = 8000;
/**
 * Maximum number of file system operations that may be overdue at the same time. Each occupies one of the process's
 * four threads for files. @limit
 */
export const SILENT_FOLDERS_MAX = 2;
/** Size of the chunks in which a shared file is read and buffered for a visitor. @limit */
export const SHARE_READ_BYTES = 65_536;
