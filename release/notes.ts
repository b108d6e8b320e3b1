/** `npm run --silent release:notes -- X.Y.Z`: prints the section of a version in CHANGELOG.md, for the release page. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseNotes } from './changelog.ts';
import { ROOT } from './repository.ts';

try {
  const [version, ...more] = process.argv.slice(2);
  if (version === undefined || more.length > 0) throw new Error('usage: node release/notes.ts X.Y.Z');
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  process.stdout.write(`${releaseNotes(changelog, version)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
