/** Whether a version can be released. */
import { hasUnreleased, releasedVersions } from './changelog.ts';
import { type Home, placeholders } from './home.ts';
import { compareVersions, isVersion } from './version.ts';

export interface Situation {
  /** the version that is asked for */
  readonly version: string;
  /** of package.json */
  readonly current: string;
  readonly branch: string;
  /** what `git status --porcelain` says */
  readonly changes: string;
  readonly tags: readonly string[];
  readonly changelog: string;
  readonly home: Home;
}

/** @returns a sentence for each reason not to release, with what to do; none if it can be done */
export function obstacles({ version, current, branch, changes, tags, changelog, home }: Situation): string[] {
  if (!isVersion(version)) return [`a version is X.Y.Z, as in 1.2.3, and not ${version || 'empty'}`];
  const released = releasedVersions(changelog);
  const newest = [...released, ...tagged(tags)].sort(compareVersions).at(-1);
  return [
    ...placeholders(home),
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

function tagged(tags: readonly string[]): string[] {
  return tags.filter((tag) => tag.startsWith('v') && isVersion(tag.slice(1))).map((tag) => tag.slice(1));
}
