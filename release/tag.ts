/**
 * Steps of release.yml. `node release/tag.ts check vX.Y.Z` checks whether a tag may be published, and
 * `node release/tag.ts notes vX.Y.Z` prints the section of its version in CHANGELOG.md, for the release page.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { releaseNotes, tagObstacles } from './plan.ts';
import { readRepository, ROOT } from './repository.ts';

const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');

function check(tag: string): void {
  const repository = readRepository();
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  const from = server === undefined || name === undefined ? repository.address : `${server}/${name}`;
  const found = tagObstacles({ tag, current: VERSION, changelog, repository, from });
  if (found.length > 0) throw new Error(found.join('\n'));
}

try {
  const [step, tag, ...more] = process.argv.slice(2);
  if (!['check', 'notes'].includes(step ?? '') || tag === undefined || more.length > 0)
    throw new Error('usage: node release/tag.ts check|notes vX.Y.Z');
  if (step === 'check') check(tag);
  else process.stdout.write(`${releaseNotes(changelog, tag.replace(/^v/, ''))}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
