/** Checks that the window is mirrored for languages that are written from right to left. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';

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

/** Names of sides that do not turn round; the logical ones do (CSS Logical Properties and Values Level 1). */
const SIDES =
  /^(?:(?:margin|padding|border|scroll-margin|scroll-padding)-(?:left|right)\b|left$|right$|border-(?:top|bottom)-(?:left|right)-radius$)/;
/** Shorthands of four sides, clockwise. */
const SHORTHANDS = /^(?:margin|padding|inset|border-(?:width|style|color))$/;
const SIDED_VALUES = /^(?:text-align|float|clear|transform-origin|background-position|object-position)$/;
/** Movements along a line, which are mirrored in right-to-left text; a sheet marks them with `var(--forward)`. */
const MOVES = /translate(?:X|3d)?\(|scaleX\(-/;

/**
 * @param sheet CSS as Prettier writes it, one declaration a line
 * @returns those declarations, as they are written
 */
function sidedDeclarations(sheet: string): string[] {
  return [...sheet.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/^\s*([a-z-]+):\s+([^;{]+);/gm)]
    .filter(([, property = '', value = '']) => isSided(property, value))
    .map(([, property = '', value = '']) => `${property}: ${value}`);
}

function isSided(property: string, value: string): boolean {
  if (SIDES.test(property)) return true;
  if (value.includes('var(--forward)')) return false;
  if (SHORTHANDS.test(property)) {
    const [, right, , left = right] = value.split(/ (?![^(]*\))/);
    return left !== right;
  }
  if (SIDED_VALUES.test(property)) return /\b(?:left|right)\b/.test(value);
  if (property === 'box-shadow') return /^(?:inset )?-?[1-9.]\S* /.test(value);
  return property === 'transform' && MOVES.test(value);
}
