import assert from 'node:assert/strict';
import { obstacles, type Situation, tagObstacles } from './plan.ts';

const READY: Situation = {
  version: '0.2.0',
  current: '0.1.0',
  branch: 'main',
  changes: '',
  tags: ['v0.1.0', 'some-tag'],
  changelog:
    '# Changelog\n\n## Unreleased\n\n### Added\n\n- It.\n\n## 0.1.0 - 2026-01-02\n\n### Added\n\n- All.\n',
  lock: { packages: { '': {} } },
  repository: {
    address: 'https://forge.org/someone/culvert',
    author: { name: 'Some People', email: 'people@forge.org' },
  },
};

describe('a release', () => {
  it('is possible', () => {
    assert.deepEqual(obstacles(READY), []);
  });

  it('may be the first one, with the version in package.json', () => {
    const changelog = '# Changelog\n\n## Unreleased\n\n### Added\n\n- All.\n';
    assert.deepEqual(obstacles({ ...READY, version: '0.1.0', tags: [''], changelog }), []);
  });

  const refused: readonly [string, Partial<Situation>, RegExp][] = [
    [
      'of something other than a version',
      { version: 'v0.2.0' },
      /a version is X\.Y\.Z, as in 1\.2\.3, and not v0\.2\.0/,
    ],
    [
      'with a lock file that is wrong on other systems',
      { lock: { packages: { 'node_modules/x': { optionalDependencies: { 'x-win32': '1' } } } } },
      /lacks 1 packages of other systems, such as x-win32: choose versions .*, run "npm install --package-lock-only"/,
    ],
    ['on another branch', { branch: 'work' }, /made on main, and this is work/],
    ['with changes that are not committed', { changes: ' M README.md' }, /not committed:\n M README\.md/],
    ['of an older version', { version: '0.0.9' }, /0\.0\.9 is not newer than 0\.1\.0, which is released/],
    ['of a version again', { version: '0.1.0', tags: [] }, /0\.1\.0 is not newer than 0\.1\.0/],
    ['of a tag that is there', { tags: ['v0.2.0'] }, /the tag v0\.2\.0 is there already/],
    [
      'that goes back behind package.json',
      { current: '0.3.0' },
      /0\.2\.0 is older than package\.json's 0\.3\.0/,
    ],
    [
      'without a word of what changed',
      { changelog: '# Changelog\n\n## Unreleased\n\n### Added\n' },
      /nothing under "Unreleased"/,
    ],
    [
      'of a project without a home',
      { repository: { ...READY.repository, address: 'https://culvert.example/culvert' } },
      /repository\.url is a placeholder/,
    ],
  ];
  for (const [what, change, message] of refused) {
    it(`${what} is refused`, () => assert.match(obstacles({ ...READY, ...change }).join('\n'), message));
  }

  it('is refused with all reasons together', () => {
    const found = obstacles({ ...READY, branch: 'work', changes: ' M a', tags: ['v0.2.0'] });
    assert.equal(found.length, 4);
  });
});

describe('the tag of a release', () => {
  const { current, changelog, repository } = READY;
  const ready = { tag: 'v0.1.0', current, changelog, repository, from: repository.address };

  it('may be published', () => assert.deepEqual(tagObstacles(ready), []));

  it('is refused if it does not match the repository', () => {
    assert.match(tagObstacles({ ...ready, tag: 'v0.2.0' }).join(), /v0\.2\.0 is not v0\.1\.0, the version/);
    assert.match(tagObstacles({ ...ready, current: '0.2.0' }).join(), /no section for 0\.2\.0/);
  });

  it('is refused in a repository other than the home', () => {
    const [found = '', ...more] = tagObstacles({ ...ready, from: 'https://forge.org/other/culvert' });
    assert.match(found, /home is https:\/\/forge\.org\/someone\/culvert, and this is/);
    assert.deepEqual(more, []);
  });
});
