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
