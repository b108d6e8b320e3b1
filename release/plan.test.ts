import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import {
  compareVersions,
  cutRelease,
  hasUnreleased,
  isVersion,
  type Lock,
  missingFromLock,
  obstacles,
  releasedVersions,
  releaseNotes,
  setVersion,
  type Situation,
  tagObstacles,
  VERSION_FILES,
} from './plan.ts';
import { ROOT } from './repository.ts';

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

const WHOLE = { resolved: 'https://registry.example/x.tgz', integrity: 'sha512-x' };

describe('missingFromLock', () => {
  it('returns packages of other systems that a lock file lacks', () => {
    const optionalDependencies = { '@x/linux': '1', '@x/darwin': '1', '@x/win32': '1' };
    const packages = { '': {}, 'node_modules/x': { optionalDependencies }, 'node_modules/@x/linux': WHOLE };
    assert.deepEqual(missingFromLock({ packages }), ['@x/darwin', '@x/win32']);
    const rest = { 'node_modules/@x/darwin': WHOLE, 'node_modules/x/node_modules/@x/win32': WHOLE };
    assert.deepEqual(missingFromLock({ packages: { ...packages, ...rest } }), []);
  });

  it('returns packages without an address or a digest', () => {
    const { resolved, integrity } = WHOLE;
    const packages = {
      'node_modules/x': { optionalDependencies: { a: '1', b: '1' } },
      'node_modules/a': { resolved },
      'node_modules/b': { integrity },
    };
    assert.deepEqual(missingFromLock({ packages }), ['a', 'b']);
  });

  it('returns nothing for the lock file of this project', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    assert.deepEqual(missingFromLock(lock), []);
    const described = Object.values(lock.packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    assert.ok(described.length > 50, 'the file names packages for other systems');
  });
});

describe('versions of releases', () => {
  it('are X.Y.Z and nothing else', () => {
    for (const text of ['0.1.0', '1.0.0', '10.20.30']) assert.ok(isVersion(text), text);
    for (const text of ['', '1', '1.0', 'v1.0.0', '1.0.0-rc.1', '01.0.0', '1.0.0 ', '1.0.0\n']) {
      assert.ok(!isVersion(text), text);
    }
  });

  it('are ordered by their numbers', () => {
    const ordered = ['0.1.0', '0.1.1', '0.2.0', '0.10.0', '1.0.0', '10.0.0'];
    assert.deepEqual(ordered.toReversed().sort(compareVersions), ordered);
    assert.equal(compareVersions('1.2.3', '1.2.3'), 0);
  });
});

describe('setting the version', () => {
  const texts = new Map(VERSION_FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

  it('changes only the version of the project', () => {
    const changed = setVersion(texts, '98.76.54');
    for (const file of ['package.json', 'package-lock.json']) {
      const manifest = JSON.parse(changed.get(file) ?? '') as {
        version: string;
        packages?: Record<string, { version: string }>;
      };
      assert.equal(manifest.version, '98.76.54', file);
      if (manifest.packages !== undefined) assert.equal(manifest.packages['']?.version, '98.76.54');
    }
    assert.match(changed.get('shared/version.ts') ?? '', /VERSION = '98\.76\.54';/);
    const places = [...changed.values()].flatMap((text) => [...text.matchAll(/98\.76\.54/g)]);
    assert.equal(places.length, 4);
    assert.deepEqual(setVersion(changed, VERSION), texts);
  });

  it('fails if a file does not contain its version in the expected form', () => {
    const changed = new Map(texts).set('shared/version.ts', 'export const OTHER = 1;\n');
    assert.throws(
      () => setVersion(changed, '1.0.0'),
      /shared\/version\.ts says the version 0 times, and not 1/,
    );
  });
});

const CHANGELOG = `# Changelog

The format.

## Unreleased

### Fixed

- Something, in
  two lines.

## 0.1.0 - 2026-01-02

### Added

- Everything.
`;

describe('the changelog', () => {
  it('has a section for each version', () => {
    assert.deepEqual(releasedVersions(CHANGELOG), ['0.1.0']);
    assert.equal(releaseNotes(CHANGELOG, '0.1.0'), '### Added\n\n- Everything.');
    assert.throws(() => releaseNotes(CHANGELOG, '0.1'), /CHANGELOG\.md has no section for 0\.1/);
  });

  it('turns the unreleased section into that of a version', () => {
    const cut = cutRelease(CHANGELOG, '0.1.1', '2026-02-03');
    assert.deepEqual(releasedVersions(cut), ['0.1.1', '0.1.0']);
    assert.equal(releaseNotes(cut, '0.1.1'), '### Fixed\n\n- Something, in\n  two lines.');
    assert.ok(cut.includes('## Unreleased\n\n## 0.1.1 - 2026-02-03\n\n### Fixed\n'));
    assert.deepEqual([hasUnreleased(CHANGELOG), hasUnreleased(cut)], [true, false]);
  });

  it('of this project has this form', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    assert.equal([...changelog.matchAll(/^## Unreleased$/gm)].length, 1);
    for (const version of releasedVersions(changelog)) assert.ok(isVersion(version), version);
    const kinds = [...changelog.matchAll(/^### (.*)$/gm)].map(([, kind = '']) => kind);
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
    for (const kind of kinds) assert.ok(known.includes(kind), kind);
  });
});
