/**
 * Which versions of Node run the programs. Any version of Node may load this file, so it uses no syntax or function
 * that an old one lacks.
 */

/** The oldest supported version, as in `engines` of package.json. */
const OLDEST = '22.13.0';

/**
 * @param program the program's name, for people
 * @param version of Node, as `process.versions.node`
 * @returns one line with the required version and how to get it; `undefined` for a version that is new enough
 */
export function nodeProblem(program: string, version: string): string | undefined {
  const [major, minor] = numbers(version);
  const [oldestMajor, oldestMinor] = numbers(OLDEST);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return (
    program +
    ': needs Node ' +
    String(oldestMajor) +
    '.' +
    String(oldestMinor) +
    ' or newer, and this is ' +
    version +
    '; get one from https://nodejs.org/en/download or your package manager (for Debian and Ubuntu: https://github.com/nodesource/distributions)'
  );
}

function numbers(version: string): [number, number] {
  const parts = version.split('.');
  return [Number(parts[0]), Number(parts[1])];
}
