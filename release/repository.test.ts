import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryOf, placeholders, readRepository, ROOT, updatesAddress } from './repository.ts';

const MANIFEST = {
  repository: { url: 'git+https://forge.org/someone/culvert.git' },
  author: 'Some People <people@forge.org>',
};

describe('the home of the project', () => {
  it('is the one in package.json', () => {
    assert.deepEqual(repositoryOf(MANIFEST), {
      address: 'https://forge.org/someone/culvert',
      author: { name: 'Some People', email: 'people@forge.org' },
    });
    assert.ok(readRepository().address.startsWith('https://'));
  });

  it('serves the files of the newest release, where the app looks for updates', () => {
    assert.equal(
      updatesAddress(repositoryOf(MANIFEST)),
      'https://forge.org/someone/culvert/releases/latest/download',
    );
  });

  it('names a field of the wrong form', () => {
    assert.throws(
      () => repositoryOf({ ...MANIFEST, repository: { url: 'github:someone/culvert' } }),
      /repository\.url must be git\+https:\/\/….git, and is github:someone\/culvert/,
    );
    assert.throws(() => repositoryOf({ ...MANIFEST, author: 'Somebody' }), /author must be NAME <MAIL>/);
  });

  it('recognises placeholders in address and email', () => {
    assert.deepEqual(placeholders(repositoryOf(MANIFEST)), []);
    const nowhere = {
      repository: { url: 'git+https://culvert.example/culvert.git' },
      author: 'Some People <people@culvert.example>',
    };
    const [address = '', author = '', ...more] = placeholders(repositoryOf(nowhere));
    assert.match(address, /^package\.json: repository\.url is a placeholder \(culvert\.example\)/);
    assert.match(author, /^package\.json: author is a placeholder \(culvert\.example\)/);
    assert.deepEqual(more, []);
  });
});

describe('package.json', () => {
  it('has no duplicate keys, which merges may cause', () => {
    const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
    assert.equal(text, `${JSON.stringify(JSON.parse(text), undefined, 2)}\n`);
  });
});
