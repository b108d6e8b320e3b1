import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutRelease, hasUnreleased, releasedVersions, releaseNotes } from './changelog.ts';
import { isVersion } from './plan.ts';
import { ROOT } from './repository.ts';

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
