/** Decides whether a version can be released, and its tag published. */
import { hasUnreleased, releasedVersions } from './changelog.ts';
import { type Lock, missingFromLock } from './lock.ts';
import { type Repository, placeholders } from './repository.ts';
import { compareVersions, isVersion } from './version.ts';

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

export interface TagSituation extends Pick<Situation, 'current' | 'changelog' | 'repository'> {
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
