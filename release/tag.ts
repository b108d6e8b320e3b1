/** `npm run release:check -- vX.Y.Z`: whether a tag may be published; the first thing that release.yml does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { readHome, ROOT } from './home.ts';
import { tagObstacles } from './plan.ts';

const home = readHome();
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
const found = tagObstacles({
  tag: process.argv[2] ?? '',
  current: VERSION,
  changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
  home,
  from: server === undefined || repository === undefined ? home.address : `${server}/${repository}`,
});
for (const obstacle of found) process.stderr.write(`${obstacle}\n`);
if (found.length > 0) process.exitCode = 1;
