/**
 * Which Node runs the programs. What is here is loaded by whatever Node there is, so it has no syntax and no function
 * that an old one does not know.
 */

/** The oldest, as `engines` in package.json says. */
const OLDEST = '22.13.0';

/**
 * @param program the program's name, for people
 * @param version of Node, as `process.versions.node`
 * @returns one line that says what is needed and how to get it; `undefined` for a Node that will do
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
