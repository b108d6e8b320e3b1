/** The page that lists a shared folder without an index. It loads nothing and runs no script. */
import { createHash } from 'node:crypto';
import { opendir } from 'node:fs/promises';
import { basename, relative, sep } from 'node:path';
import { BASE_STYLE, escapeHtml, MARK } from '../../../shared/page.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { byteSize } from '../byte-size.ts';
import { findShared, isPublicName, type SharedRoot } from './shared-path.ts';

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
export const LISTING_FIELDS = {
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
export async function listingPage(root: SharedRoot, path: string, visited: string): Promise<string> {
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

/** Maximum number of names listed on a shared folder's page: each is looked up, and nobody reads more. @limit */
export const SHARE_LISTED_MAX = 1000;
/**
 * Maximum number of names looked up for a page to count what its folders contain. Slow drives take milliseconds for
 * each. @limit
 */
export const SHARE_COUNTED_MAX = 200;
