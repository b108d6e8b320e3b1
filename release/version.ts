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
