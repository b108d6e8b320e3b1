/** A large repository cloned over HTTP through a tunnel arrives whole. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Culvert, Relay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { git, startGitServer } from './git-server.ts';

const FILES = 25;
const FILE_BYTES = 4 * 1024 * 1024;
const NOBODY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'commit.gpgsign=false'];

/** One hash of the content of all files. */
function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort())
    if (name !== '.git') hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

describe('git clone through a tunnel', () => {
  const scope = suiteScope();

  it('receives 100 MB intact', async function () {
    const root = temporaryDirectory(scope);
    const origin = join(root, 'origin');
    mkdirSync(origin);
    await git(origin, 'init', '--quiet', '--initial-branch=main');
    // Random data does not compress, and trying takes longer than everything else.
    for (const setting of ['core.compression=0', 'core.bigFileThreshold=1m', 'gc.auto=0'])
      await git(origin, 'config', ...setting.split('='));
    // Random bytes do not compress, so all of them are transferred.
    for (let n = 0; n < FILES; n++) writeFileSync(join(origin, `file${n}`), randomBytes(FILE_BYTES));
    await git(origin, 'add', '.');
    await git(origin, ...NOBODY, 'commit', '--quiet', '--message', 'large');

    const relay = await Relay.start(scope);
    const server = await startGitServer(scope, root);
    await Culvert.start(scope, relay, relay.bootstrapKey, server.port, ['--name', 'git']);
    await git(root, 'clone', '--quiet', `http://git.localhost:${relay.port}/origin/.git`, 'copy');

    const copy = join(root, 'copy');
    await git(copy, 'fsck', '--full', '--strict');
    assert.equal(await git(copy, 'rev-parse', 'HEAD'), await git(origin, 'rev-parse', 'HEAD'));
    assert.equal(await git(copy, 'status', '--porcelain'), '');
    assert.equal(hashOf(copy), hashOf(origin));
    const packs = readdirSync(join(copy, '.git/objects/pack')).filter((name) => name.endsWith('.pack'));
    const bytes = packs.map((name) => statSync(join(copy, '.git/objects/pack', name)).size);
    assert.ok(bytes.reduce((sum, size) => sum + size, 0) >= FILES * FILE_BYTES);
  });
});
