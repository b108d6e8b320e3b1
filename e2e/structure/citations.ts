/** What sources and pages cite: pages under docs, their sections, decisions, and files of the project. */
import { posix } from 'node:path';

/** A section of docs/protocol.md as sources and decisions cite it: `docs/protocol.md section 4.2`. */
const SECTIONS = /docs\/protocol\.md sections? (\d+(?:\.\d+)?(?:(?:, | and | or )\d+(?:\.\d+)?)*)/g;
/** The same in any other form. */
const OTHER_FORM =
  /(?<!docs\/)protocol\.md(?=,? (?:sections? \d|§|"))|protocol\.md(?=, (?:sections? \d|§|"))/g;
const PAGE = /\bdocs\/[\w/-]+\.md\b/g;
const DECISION = /\bdecisions? (\d{4})\b|\bdecisions\/(\d{4})(?![\w-])/g;
const LINK = /\]\(([^)\s]+)\)/g;
/** A file in backticks, with a folder before it: a name alone may be anybody's, such as the reader's own `README.md`. */
const FILE = /`([\w./{},*@-]+\/[\w.{},*@-]+\.(?:tsx?|md|sh|css|svg|html|conf|service))`/g;
/** References of a page to its own sections, without those of an RFC. */
const OWN_SECTION = /(?<!RFC \d{3,5} )\bsections? (\d+(?:\.\d+)?)/g;

/** A text without the marks at the beginning of comment lines, so that citations may be wrapped. */
export function unwrapped(text: string): string {
  return text.replaceAll(/\n\s*(?:\*|\/\/)? ?/g, ' ');
}

/** Mentions of pages that the project was made from and does not have. */
export function absentPages(text: string): string[] {
  return [...text.matchAll(/\b(?:spec|contract|design)\.md\b/g)].map(([name]) => name);
}

/** Numbers of the sections of docs/protocol.md that a text cites. */
export function citedSections(text: string): string[] {
  return [...text.matchAll(SECTIONS)].flatMap(([, numbers = '']) => numbers.split(/, | and | or /));
}

/** Citations of a section of docs/protocol.md that have another form than {@link citedSections} reads. */
export function otherForms(text: string): string[] {
  return [...text.matchAll(OTHER_FORM)].map(({ index }) => text.slice(Math.max(0, index - 20), index + 40));
}

/** Numbers that the headings of a page begin with, such as `4.2`. */
export function sectionsOf(page: string): Set<string> {
  return new Set([...page.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, number = '']) => number));
}

/** Numbers of sections that a page names without saying of what: its own. */
export function ownSections(page: string): string[] {
  return [...page.matchAll(OWN_SECTION)].map(([, number = '']) => number);
}

/** Pages under docs that a text names, from the root of the repository. */
export function citedPages(text: string): string[] {
  return [...text.matchAll(PAGE)].map(([page]) => page);
}

/** Numbers of decisions that a text names. */
export function citedDecisions(text: string): string[] {
  return [...text.matchAll(DECISION)].map(([, named, path]) => named ?? path ?? '');
}

/** Files that a page links to, from the root of the repository, each with its anchor if it has one. */
export function linkedFiles(
  page: string,
  path: string,
): { readonly file: string; readonly anchor: string }[] {
  return (
    [...page.matchAll(LINK)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => {
        const [file = '', anchor = ''] = target.split('#', 2);
        return { file: file === '' ? path : posix.join(posix.dirname(path), file), anchor };
      })
      // Of the forge itself.
      .filter(({ file }) => !file.startsWith('../'))
  );
}

/** Anchors of a page's headings, as forges make them. */
export function anchorsOf(page: string): Set<string> {
  return new Set(
    [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Files that a page names in backticks; with several in braces, each of them. */
export function namedFiles(page: string): string[] {
  return [...page.matchAll(FILE)].flatMap(([, path = '']) => expanded(path));
}

function expanded(path: string): string[] {
  const [all, before = '', options = '', after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(path) ?? [];
  if (all === undefined) return [path];
  return options.split(',').flatMap((option) => expanded(before + option + after));
}

/** Whether one of the files has that path, or ends with it, as pages name files by their last folders. */
export function isNamed(path: string, files: readonly string[]): boolean {
  if (path.includes('*')) return files.some((file) => posix.matchesGlob(file, `**/${path}`));
  return files.some((file) => file === path || file.endsWith(`/${path}`));
}

/**
 * Paths in a map of folders: a block of lines, each with one or several names before two spaces, the names of a folder
 * indented below it.
 *
 * @returns from the root of the repository, folders with a slash at the end
 */
export function mappedPaths(map: string): string[] {
  const folders: { readonly indent: number; readonly path: string }[] = [];
  const paths: string[] = [];
  for (const line of map.split('\n')) {
    const [, indent = '', names = ''] = /^( *)([\w.-]+\/?(?:, [\w.-]+\/?)*)(?: {2,}|$)/.exec(line) ?? [];
    if (names === '' || !/[./]/.test(names)) continue;
    while ((folders.at(-1)?.indent ?? -1) >= indent.length) folders.pop();
    const parent = folders.at(-1)?.path ?? '';
    for (const name of names.split(', ')) paths.push(parent + name);
    const last = paths.at(-1) ?? '';
    if (last.endsWith('/')) folders.push({ indent: indent.length, path: last });
  }
  return paths;
}
