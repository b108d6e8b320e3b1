/**
 * Serves the files of a folder. `send` handles media types, ranges and conditions; this file decides what is visible.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, opendir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, relative, sep } from 'node:path';
import send from 'send';
import { escapeHtml } from '../../../shared/page.ts';
import { type Clock, systemClock } from '../clock.ts';
import {
  findShared,
  isPublicName,
  openShared,
  readTarget,
  type SharedEntry,
  type SharedRoot,
} from './shared-path.ts';

const INDEX = 'index.html';
const TEXT = 'text/plain; charset=utf-8';
/** A listing loads nothing and runs no script. */
const LISTING_FIELDS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
};

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
  const page = await looks.take(() => listingPage(root, found.path, names));
  response.writeHead(200, { ...LISTING_FIELDS, 'content-length': Buffer.byteLength(page) });
  response.end(request.method === 'HEAD' ? undefined : page);
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

function refuse(response: ServerResponse, status: number): void {
  const text = `${WORDS[status] ?? 'Failed'}\n`;
  response.removeHeader('content-encoding');
  response.writeHead(status, { 'content-type': TEXT, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/* The page that lists a folder without an index. */

/**
 * @param root the shared folder
 * @param path of the folder that is listed, within it
 * @param names the names in the visited address
 * @returns HTML that lists only what visitors can open
 */
export async function listingPage(root: SharedRoot, path: string, names: readonly string[]): Promise<string> {
  const { entries, isComplete } = await readEntries(root, path);
  const title = escapeHtml(`/${names.join('/')}`);
  const up = names.length === 0 ? '' : '<li><a href="../">../</a></li>\n';
  const more = isComplete ? '' : `<p>This list is incomplete: it shows only ${SHARE_LISTED_MAX} names.</p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<ul>
${up}${entries.map(item).join('')}</ul>
${more}</html>
`;
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

async function readEntries(
  root: SharedRoot,
  path: string,
): Promise<{ entries: Entry[]; isComplete: boolean }> {
  const entries: Entry[] = [];
  const above = relative(root.path, path).split(sep).filter(Boolean);
  let looked = 0;
  for await (const { name } of await opendir(path)) {
    looked += 1;
    if (looked > SHARE_LISTED_MAX) return { entries: sorted(entries), isComplete: false };
    if (!isPublicName(name) || !name.isWellFormed()) continue;
    const found = await findShared(root, [...above, name]);
    if (found !== undefined) entries.push({ name, isFolder: found.isFolder });
  }
  return { entries: sorted(entries), isComplete: true };
}

/** Folders first. */
function sorted(entries: Entry[]): Entry[] {
  return entries.toSorted(
    (one, other) => Number(other.isFolder) - Number(one.isFolder) || (one.name < other.name ? -1 : 1),
  );
}

function item({ name, isFolder }: Entry): string {
  const end = isFolder ? '/' : '';
  // The dot keeps a name with a colon from being parsed as a scheme.
  return `<li><a href="./${encodeURIComponent(name)}${end}"><bdi>${escapeHtml(name)}</bdi>${end}</a></li>\n`;
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

/** Maximum number of names listed on a shared folder's page: each is looked up, and nobody reads more. @limit */
export const SHARE_LISTED_MAX = 1000;
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
