/** Decides whether a version can be released, and its tag published, and reads and writes the sections of CHANGELOG.md for it. */
import { placeholders, type Repository } from './repository.ts';

export interface Situation {
  /** the requested version */
  readonly version: string;
  /** the version in package.json */
  readonly current: string;
  readonly branch: string;
  /** the output of `git status --porcelain` */
  readonly changes: string;
  readonly tags: readonly string[];
  readonly changelog: string;
  readonly repository: Repository;
  readonly lock: Lock;
}

/** @returns a sentence for each obstacle to a release, with what to do; empty if there is none */
export function obstacles({
  version,
  current,
  branch,
  changes,
  tags,
  changelog,
  repository,
  lock,
}: Situation): string[] {
  if (!isVersion(version)) return [`a version is X.Y.Z, as in 1.2.3, and not ${version || 'empty'}`];
  const released = releasedVersions(changelog);
  const missing = missingFromLock(lock);
  const newest = [...released, ...tagged(tags)].sort(compareVersions).at(-1);
  return [
    ...placeholders(repository),
    ...(missing.length === 0
      ? []
      : [
          `package-lock.json lacks ${missing.length} packages of other systems, such as ${missing[0]}: ` +
            'choose versions that the registry has for every system, run "npm install --package-lock-only", and commit it',
        ]),
    ...(branch === 'main' ? [] : [`releases are made on main, and this is ${branch}`]),
    ...(changes === '' ? [] : [`there are changes that are not committed:\n${changes}`]),
    ...(tags.includes(`v${version}`) ? [`the tag v${version} is there already`] : []),
    ...(newest !== undefined && compareVersions(version, newest) <= 0
      ? [`${version} is not newer than ${newest}, which is released already`]
      : []),
    ...(compareVersions(version, current) < 0 ? [`${version} is older than package.json's ${current}`] : []),
    ...(hasUnreleased(changelog)
      ? []
      : ['CHANGELOG.md has nothing under "Unreleased": write what changed for users']),
  ];
}

interface TagSituation extends Pick<Situation, 'current' | 'changelog' | 'repository'> {
  /** the tag to publish */
  readonly tag: string;
  /** address of the repository that would publish it */
  readonly from: string;
}

/** @returns a sentence for each obstacle to publishing a tag, which may have been created by hand */
export function tagObstacles({ tag, current, changelog, repository, from }: TagSituation): string[] {
  return [
    ...placeholders(repository),
    ...(tag === `v${current}`
      ? []
      : [`the tag ${tag || '(none)'} is not v${current}, the version of package.json`]),
    ...(releasedVersions(changelog).includes(current) ? [] : [`CHANGELOG.md has no section for ${current}`]),
    // Otherwise apps would look for updates elsewhere.
    ...(from === repository.address
      ? []
      : [`package.json says that home is ${repository.address}, and this is ${from}`]),
  ];
}

function tagged(tags: readonly string[]): string[] {
  return tags.filter((tag) => tag.startsWith('v') && isVersion(tag.slice(1))).map((tag) => tag.slice(1));
}

/** The used parts of `package-lock.json`: every package by its path. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  /** address of the package's file */
  readonly resolved?: string;
  /** its digest */
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Packages for other systems that a lock file lacks, or lists without address and digest. npm writes such a file if the
 * registry does not offer them, and `npm ci` rejects it.
 */
export function missingFromLock({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !isWhole(packages[`${path}/node_modules/${name}`]) && !isWhole(packages[`node_modules/${name}`]),
    ),
  );
}

function isWhole(locked: LockedPackage | undefined): boolean {
  return locked?.resolved !== undefined && locked.integrity !== undefined;
}

/** Versions of releases: `X.Y.Z` of Semantic Versioning 2.0.0. There are no pre-releases. */

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** @returns a negative number if `a` is older, 0 if they are equal */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parts(a), parts(b)];
  return left.map((part, index) => part - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function parts(version: string): number[] {
  if (!isVersion(version)) throw new Error(`a version is X.Y.Z, and not ${version}`);
  return version.split('.').map(Number);
}

/** The files that contain the version, and how to find it in each. */

interface Place {
  readonly file: string;
  /** matches the text before each version, the version, and the text after it */
  readonly pattern: RegExp;
  readonly count: number;
}

const PLACES: readonly Place[] = [
  { file: 'package.json', pattern: /^( {2}"version": ")([^"]+)(",)$/gm, count: 1 },
  // The project's version, also in its entry among the packages.
  {
    file: 'package-lock.json',
    pattern:
      /^( {2}"version": "|\s{4}"": \{\n\s+"name": "@culvert\/culvert",\n\s+"version": ")([^"]+)(",)$/gm,
    count: 2,
  },
  { file: 'shared/version.ts', pattern: /^(export const VERSION = ')([^']+)(';)$/gm, count: 1 },
];

export const VERSION_FILES: readonly string[] = PLACES.map(({ file }) => file);

/**
 * @param texts of {@link VERSION_FILES}, by name
 * @returns the same texts with another version
 * @throws Error if a file does not contain the version in the expected form
 */
export function setVersion(texts: ReadonlyMap<string, string>, version: string): Map<string, string> {
  return new Map(
    PLACES.map(({ file, pattern, count }) => {
      const text = texts.get(file) ?? '';
      const found = [...text.matchAll(pattern)].length;
      if (found !== count) throw new Error(`${file} says the version ${found} times, and not ${count}`);
      return [
        file,
        text.replace(pattern, (_, before: string, _old, after: string) => before + version + after),
      ];
    }),
  );
}

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
