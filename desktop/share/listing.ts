/** The page that lists a folder without an index. */
import { opendir } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { escapeHtml } from '../../shared/page.ts';
import { SHARE_LISTED_MAX } from './limits.ts';
import { findShared, isPublicName, type SharedRoot } from './shared-path.ts';

/**
 * @param root the shared folder
 * @param path of the folder that is listed, within it
 * @param names that the visitor has come by
 * @returns HTML, with what visitors can open and nothing else
 */
export async function listingPage(root: SharedRoot, path: string, names: readonly string[]): Promise<string> {
  const { entries, isComplete } = await readEntries(root, path);
  const title = escapeHtml(`/${names.join('/')}`);
  const up = names.length === 0 ? '' : '<li><a href="../">../</a></li>\n';
  const more = isComplete ? '' : `<p>There is more; ${SHARE_LISTED_MAX} names are looked at.</p>\n`;
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
  // The dot keeps a name with a colon from being read as another scheme.
  return `<li><a href="./${encodeURIComponent(name)}${end}"><bdi>${escapeHtml(name)}</bdi>${end}</a></li>\n`;
}
