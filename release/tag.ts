/** `node release/tag.ts vX.Y.Z`: checks whether a tag may be published; the first step of release.yml. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { tagObstacles } from './plan.ts';
import { readRepository, ROOT } from './repository.ts';

const repository = readRepository();
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
const found = tagObstacles({
  tag: process.argv[2] ?? '',
  current: VERSION,
  changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
  repository,
  from: server === undefined || name === undefined ? repository.address : `${server}/${name}`,
});
for (const obstacle of found) process.stderr.write(`${obstacle}\n`);
if (found.length > 0) process.exitCode = 1;
