/** Parses CHANGELOG.md: a section `## Unreleased`, followed by one `## X.Y.Z - YYYY-MM-DD` per release. */

const UNRELEASED = 'Unreleased';

interface Section {
  /** a version, or `Unreleased` */
  readonly name: string;
  /** without its heading and surrounding blank lines */
  readonly body: string;
}

/** @returns the versions that have a section, newest first as in the file */
export function releasedVersions(changelog: string): string[] {
  return sections(changelog)
    .map(({ name }) => name)
    .filter((name) => name !== UNRELEASED);
}

/**
 * @returns the changes of a version, as Markdown
 * @throws Error if the changelog does not have them
 */
export function releaseNotes(changelog: string, version: string): string {
  const section = sections(changelog).find(({ name }) => name === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`);
  return section.body;
}

/** @returns whether there are unreleased changes */
export function hasUnreleased(changelog: string): boolean {
  return sections(changelog).some(({ name, body }) => name === UNRELEASED && /^- /m.test(body));
}

/**
 * Turns the unreleased section into that of a version, below a new, empty "Unreleased".
 *
 * @param date `YYYY-MM-DD`
 */
export function cutRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(/^## Unreleased$/m, `## ${UNRELEASED}\n\n## ${version} - ${date}`);
}

function sections(changelog: string): Section[] {
  const [, ...texts] = changelog.split(/^## /m);
  return texts.map((text) => {
    const [heading = '', ...lines] = text.split('\n');
    const [name = ''] = heading.split(' - ');
    return { name: name.trim(), body: lines.join('\n').trim() };
  });
}
