/**
 * Serves the files of a folder. `send` handles media types, ranges and conditions; this file decides what is visible.
 */
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, opendir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, relative, sep } from 'node:path';
import send from 'send';
import { prefersHtml } from '../../../shared/http1/fields.ts';
import {
  page,
  PAGE_STYLE,
  RETRY_HTML,
  RETRY_SECONDS,
  BASE_STYLE,
  escapeHtml,
  MARK,
} from '../../../shared/page.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { byteSize } from '../inspector/readable.ts';
import { type Clock, systemClock } from '../clock.ts';
import {
  findShared,
  openShared,
  readTarget,
  type SharedEntry,
  type SharedRoot,
  isPublicName,
} from './shared-path.ts';

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
 * seconds; a server that is gone never answers.
 */
export const FOLDER_ANSWER_MS = 8000;
/**
 * Maximum number of file system operations that may be overdue at the same time. Each occupies one of the process's
 * four threads for files.
 */
export const SILENT_FOLDERS_MAX = 2;
/** Size of the chunks in which a shared file is read and buffered for a visitor. */
const SHARE_READ_BYTES = 65_536;

const STYLE = `${BASE_STYLE}
body>svg{position:absolute}
main{box-sizing:border-box;max-width:46rem;margin:0 auto;padding:2rem 1rem}
header{display:flex;gap:.75rem;margin-bottom:1.25rem}
header svg{flex:none;width:1.75rem;height:1.75rem}
h1{margin:0;min-width:0;font-size:1.25rem;line-height:1.75rem;overflow-wrap:anywhere}
h1 a{color:inherit;text-decoration-color:var(--soft);text-underline-offset:.2em}
h1 small{font-size:1.25rem;font-weight:400}
ul{list-style:none;margin:0 0 1.25rem;padding:0;border:1px solid var(--line);border-radius:.75rem;overflow:hidden}
li{position:relative;display:flex;gap:1rem;align-items:center;padding:.625rem 1rem}
li+li{border-top:1px solid var(--line)}
li:hover{background:var(--raised)}
li svg{flex:none;width:1.25rem;height:1.25rem}
li a{flex:1;min-width:0;color:inherit;text-decoration:none;overflow-wrap:anywhere}
li a::after{content:"";position:absolute;inset:0}
li a:hover{text-decoration:underline}
li a:focus-visible{outline:none}
li a:focus-visible::after{outline:3px solid var(--accent);outline-offset:-3px;border-radius:.75rem}
li small{flex:none;text-align:right;white-space:nowrap}
time{display:inline-block;min-width:6.5rem}
@media(max-width:32rem){time{display:none}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** The fields of a response with a listing. */
const LISTING_FIELDS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`,
};
/** The icons, drawn once for all rows. */
const ICONS = `<svg width="0" height="0" aria-hidden="true"><symbol id="folder" viewBox="0 0 20 20"><path d="M2.5 15.5v-11h5l2 2.5h8v8.5z"/></symbol><symbol id="file" viewBox="0 0 20 20"><path d="M5 2.5h6.5L15 6v11.5H5zM11.5 2.5V6H15"/></symbol></svg>`;

/**
 * @param root the shared folder, whose name is shown
 * @param path of the folder that is listed, within it
 * @param visited path in the visited address, with a slash at its end
 * @returns HTML that lists only what visitors can open
 */
async function listingPage(root: SharedRoot, path: string, visited: string): Promise<string> {
  const { entries, isComplete } = await readEntries(root, path);
  const crumbs = crumbsOf(root, visited);
  const now = new Date();
  const rows = entries.map((entry) => item(entry, now)).join('');
  const more = isComplete ? '' : `<p>This list is incomplete: it shows only ${SHARE_LISTED_MAX} names.</p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${crumbs.map(({ name }) => shownName(name)).join(' / ')}</title>
<style>${STYLE}</style>
${ICONS}
<main>
<header>
${MARK}
<h1>${crumbs.map(crumb).join(' / ')}${isComplete ? ` <small>${itemCount(entries.length)}</small>` : ''}</h1>
</header>
${rows === '' ? '<p>This folder is empty.</p>' : `<ul role="list">\n${rows}</ul>`}
${more}<p><small>Shared from someone's computer with Culvert</small></p>
</main>
</html>
`;
}

/** A folder on the way from the shared folder to the listed one. */
interface Crumb {
  readonly name: string;
  /** relative to the visited address; empty for the listed folder */
  readonly href: string;
}

/** Relative addresses, because behind the path of a relay a tunnel does not begin at "/". */
function crumbsOf(root: SharedRoot, visited: string): Crumb[] {
  const parts = visited.split('/').slice(1, -1);
  const crumbs = [{ name: basename(root.path) || 'Shared folder', href: '../'.repeat(parts.length) }];
  parts.forEach((part, index) => {
    // Addresses may have empty parts, which name nothing.
    const href = '../'.repeat(parts.length - 1 - index);
    if (part !== '') crumbs.push({ name: decodeURIComponent(part), href });
  });
  return crumbs;
}

function crumb({ name, href }: Crumb, index: number, all: readonly Crumb[]): string {
  const text = `<bdi>${shownName(name)}</bdi>`;
  return index === all.length - 1 ? text : `<a href="${href}">${text}</a>`;
}

/** Characters that break lines, or hide or reverse what follows (`gpj.exe`), are written out. */
function shownName(name: string): string {
  return escapeHtml(escapeUnprintable(name));
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  /** in bytes */
  readonly size: number;
  readonly changed: Date;
  /** how many entries a folder shows; `undefined` for a file, and for a folder that was not counted */
  readonly items?: number | undefined;
}

async function readEntries(
  root: SharedRoot,
  path: string,
): Promise<{ entries: Entry[]; isComplete: boolean }> {
  const entries: Entry[] = [];
  let isComplete = true;
  let looked = 0;
  for await (const { name } of await opendir(path)) {
    looked += 1;
    isComplete = looked <= SHARE_LISTED_MAX;
    if (!isComplete) break;
    const found = await findEntry(root, path, name);
    if (found !== undefined) entries.push({ name, ...found });
  }
  const budget = { left: SHARE_COUNTED_MAX };
  const counted: Entry[] = [];
  for (const entry of sorted(entries))
    counted.push(entry.isFolder ? { ...entry, items: await countItems(root, path, entry, budget) } : entry);
  return { entries: counted, isComplete };
}

/** @returns `undefined` for what visitors cannot open, or not by an address */
async function findEntry(root: SharedRoot, folder: string, name: string) {
  if (!isPublicName(name) || !name.isWellFormed()) return undefined;
  return findShared(root, [...relative(root.path, folder).split(sep).filter(Boolean), name]);
}

/** @param budget how many more names may be looked up for this page */
async function countItems(
  root: SharedRoot,
  above: string,
  { name }: Entry,
  budget: { left: number },
): Promise<number | undefined> {
  // A link to a folder elsewhere in the share has another real path.
  const folder = await findEntry(root, above, name);
  if (folder === undefined) return undefined;
  let items = 0;
  try {
    for await (const { name: inner } of await opendir(folder.path)) {
      if (budget.left === 0) return undefined;
      budget.left -= 1;
      if ((await findEntry(root, folder.path, inner)) !== undefined) items += 1;
    }
  } catch {
    // The folder is gone or forbidden, which its own page says.
    return undefined;
  }
  return items;
}

const ORDER = new Intl.Collator('en', { numeric: true });

/** Folders first, then by name, with `2.txt` before `10.txt`. */
function sorted(entries: readonly Entry[]): Entry[] {
  return entries.toSorted(
    (one, other) =>
      Number(other.isFolder) - Number(one.isFolder) ||
      ORDER.compare(one.name, other.name) ||
      (one.name < other.name ? -1 : 1),
  );
}

function item({ name, isFolder, size, changed, items }: Entry, now: Date): string {
  const fact = isFolder ? (items === undefined ? '' : itemCount(items)) : byteSize(size);
  // The dot keeps a name with a colon from being parsed as a scheme.
  return `<li>${isFolder ? FOLDER_ICON : FILE_ICON}<a href="./${encodeURIComponent(name)}${isFolder ? '/' : ''}"><bdi>${shownName(name)}</bdi></a><small>${fact} <time datetime="${changed.toISOString()}">${day(changed, now)}</time></small></li>\n`;
}

const FOLDER_ICON = icon('folder', 'Folder');
const FILE_ICON = icon('file', 'File');

function icon(id: string, label: string): string {
  return `<svg fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" role="img" aria-label="${label}"><use href="#${id}"/></svg>`;
}

function itemCount(count: number): string {
  return `${count} ${count === 1 ? 'item' : 'items'}`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** `24 Nov`, with the year unless it is this one, in the time zone of this machine. */
function day(date: Date, now: Date): string {
  return (date.getFullYear() === now.getFullYear() ? DAY : DAY_AND_YEAR).format(date);
}

/**
 * Maximum number of names listed on a shared folder's page: each is looked up, and nobody reads more.
 * @limit visitor: Names on a shared folder's page | the page says that the list is incomplete
 */
const SHARE_LISTED_MAX = 1000;
/**
 * Maximum number of names looked up for a page to count what its folders contain. Slow drives take milliseconds for
 * each.
 */
const SHARE_COUNTED_MAX = 200;
