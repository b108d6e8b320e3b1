/** Declarations of a style sheet that mean a side of the window whatever direction its language is written in. */

/** Names of sides that do not turn round; the logical ones do (CSS Logical Properties and Values Level 1). */
const SIDES =
  /^(?:(?:margin|padding|border|scroll-margin|scroll-padding)-(?:left|right)\b|left$|right$|border-(?:top|bottom)-(?:left|right)-radius$)/;
/** Shorthands of four sides, clockwise. */
const SHORTHANDS = /^(?:margin|padding|inset|border-(?:width|style|color))$/;
const SIDED_VALUES = /^(?:text-align|float|clear|transform-origin|background-position|object-position)$/;
/** Movements along a line, which go the other way; a sheet says so with `var(--forward)`. */
const MOVES = /translate(?:X|3d)?\(|scaleX\(-/;

/**
 * @param sheet CSS as Prettier writes it, one declaration a line
 * @returns those declarations, as they are written
 */
export function sidedDeclarations(sheet: string): string[] {
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
