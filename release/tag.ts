/** `npm run release:check -- vX.Y.Z`: whether a tag may be published; the first thing that release.yml does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { releasedVersions } from './changelog.ts';
import { placeholders, readHome, ROOT } from './home.ts';

const [tag = ''] = process.argv.slice(2);
const home = readHome();
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
const here = server === undefined || repository === undefined ? home.address : `${server}/${repository}`;
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const problems = [
  ...placeholders(home),
  ...(tag === `v${VERSION}`
    ? []
    : [`the tag ${tag || '(none)'} is not v${VERSION}, the version of package.json`]),
  ...(releasedVersions(changelog).includes(VERSION) ? [] : [`CHANGELOG.md has no section for ${VERSION}`]),
  // Apps would look for their updates elsewhere.
  ...(here === home.address ? [] : [`package.json says that home is ${home.address}, and this is ${here}`]),
];
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
