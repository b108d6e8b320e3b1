/** Checks that the window is mirrored for languages that are written from right to left. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { sidedDeclarations } from '../../../testing/texts.ts';

const ROOT = new URL('../../../../', import.meta.url);

describe('style sheets of the window', () => {
  for (const path of globSync('desktop/app/renderer/style/*.css', { cwd: ROOT }))
    it(`mirror: ${path.slice(path.lastIndexOf('/') + 1)}`, () => {
      assert.deepEqual(sidedDeclarations(readFileSync(new URL(path, ROOT), 'utf8')), []);
    });
});

describe('components of the window', () => {
  it('do not set a physical side', () => {
    const sided = globSync('desktop/app/renderer/**/*.tsx', { cwd: ROOT }).flatMap((path) => [
      ...readFileSync(new URL(path, ROOT), 'utf8').matchAll(/style=\{\{[^}]*(?:[lL]eft|[rR]ight)\w*:.*/g),
    ]);
    assert.deepEqual(
      sided.map(([text]) => text),
      [],
    );
  });
});

describe('declarations that set a physical side', () => {
  it('are detected in every form', () => {
    const sided = [
      'margin-left: auto',
      'border-right: 1px solid red',
      'border-top-left-radius: 4px',
      'left: 0',
      'padding: 0 1px 0 calc(1px + 2px)',
      'inset: auto auto 0 0',
      'text-align: right',
      'transform-origin: left',
      'transform: translateX(1rem)',
      'box-shadow: inset 2px 0 red',
    ];
    assert.deepEqual(found(sided), sided);
  });

  it('do not include those that follow the direction, or are symmetric', () => {
    assert.deepEqual(
      found([
        'margin-inline-start: auto',
        'padding: 0 calc(1px + 2px)',
        'inset: auto 1rem 0',
        'margin: 1px 2px 3px 2px',
        'text-align: start',
        'transform: translateX(calc(1rem * var(--forward)))',
        'transform: rotate(90deg)',
        'transform: scaleX(0)',
        'box-shadow: 0 6px 24px red',
      ]),
      [],
    );
  });
});

function found(declarations: readonly string[]): string[] {
  return sidedDeclarations(`.x {\n${declarations.map((each) => `  ${each};\n`).join('')}}\n`);
}
