import assert from 'node:assert/strict';
import { homebrewFormula } from './homebrew.ts';

describe('the Homebrew formula', () => {
  it('has the address and digest of each program that was made, and no other', () => {
    const formula = homebrewFormula({
      version: '1.2.3',
      repository: { address: 'https://culvert.example/culvert' },
      digests: new Map([
        ['macos-arm64', 'aa'],
        ['linux-x64', 'bb'],
        ['windows-x64', 'cc'],
      ]),
    });
    const release = 'https://culvert.example/culvert/releases/download/v1.2.3';
    assert.match(formula, /^ {2}version "1\.2\.3"$/m);
    assert.deepEqual(formula.match(/^ +(?:on_|url|sha256).*$/gm), [
      '  on_macos do',
      '    on_arm do',
      `      url "${release}/culvert-macos-arm64.gz"`,
      '      sha256 "aa"',
      '  on_linux do',
      '    on_intel do',
      `      url "${release}/culvert-linux-x64.gz"`,
      '      sha256 "bb"',
    ]);
  });
});
