/** Finds texts in a source that are in no catalogue, and the values it passes to messages of the catalogue. */
import {
  isLiteralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';
import { parsers } from 'prettier/plugins/typescript';

/** A node of the syntax tree, as ESTree has them. */
interface Node {
  readonly type: string;
  readonly loc?: { readonly start: { readonly line: number } };
  readonly [part: string]: unknown;
}

/** Attributes that people read or hear, of elements and of the window's own components. */
const SHOWN = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'aria-valuetext',
  'hint',
  'label',
  'placeholder',
  'title',
  'what',
  'words',
]);
/** Functions whose arguments are shown to people. */
const SAYING = new Set(['say']);
const LETTER = /\p{L}/u;

/** TypeScript, with or without JSX depending on its name. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Text {
  readonly line: number;
  readonly text: string;
}

/** A call that shows a message. */
export interface Said {
  readonly line: number;
  readonly key: string;
  /** names of the passed values; `undefined` if they are built elsewhere */
  readonly places: readonly string[] | undefined;
}

/** @returns texts that are shown and written at the place of use, each with its line */
export function writtenTexts(source: Source): Text[] {
  const found: Text[] = [];
  const add = (node: unknown): void => {
    for (const { text, line } of strings(node))
      if (LETTER.test(text)) found.push({ line, text: text.trim() });
  };
  walk(source, (node) => {
    switch (node.type) {
      case 'JSXText':
        add(node);
        break;
      case 'JSXAttribute':
        if (SHOWN.has(nameOf(node['name']))) add(node['value']);
        break;
      case 'JSXElement':
      case 'JSXFragment':
        for (const child of nodes(node['children'])) if (child.type === 'JSXExpressionContainer') add(child);
        break;
      case 'CallExpression':
        if (SAYING.has(nameOf(node['callee']))) nodes(node['arguments']).forEach(add);
        break;
    }
  });
  return found;
}

/**
 * @param speakers names of the functions that say a message: its key is their first argument, its values the ones after
 */
export function saidMessages(source: Source, speakers: readonly string[]): Said[] {
  const said: Said[] = [];
  walk(source, (node) => {
    if (node.type !== 'CallExpression' || !speakers.includes(nameOf(node['callee']))) return;
    const [key, ...values] = nodes(node['arguments']);
    const places = values.map(propertyNames);
    const isKnown = places.every((names) => names !== undefined);
    for (const { text, line } of strings(key))
      said.push({ key: text, line, places: isKnown ? places.flatMap((names) => names ?? []) : undefined });
  });
  return said;
}

/**
 * @returns the property names of an object literal; `undefined` for any other node or one that spreads another object
 */
function propertyNames(node: Node): string[] | undefined {
  if (node.type !== 'ObjectExpression') return undefined;
  const properties = nodes(node['properties']);
  if (properties.some(({ type, computed }) => type !== 'Property' || computed === true)) return undefined;
  return properties.map(({ key }) => nameOf(key));
}

/** The string literals that an expression may have as its value, or a part of it. */
function strings(node: unknown): Text[] {
  if (!isNode(node)) return [];
  const line = node.loc?.start.line ?? 0;
  switch (node.type) {
    case 'JSXText':
    case 'Literal':
      return typeof node['value'] === 'string' ? [{ text: node['value'], line }] : [];
    case 'TemplateLiteral':
      return [...nodes(node['quasis']), ...nodes(node['expressions'])].flatMap(strings);
    case 'TemplateElement':
      return [{ text: (node['value'] as { readonly cooked: string }).cooked, line }];
    case 'ConditionalExpression':
      return [node['consequent'], node['alternate']].flatMap(strings);
    case 'LogicalExpression':
      return [...(node['operator'] === '&&' ? [] : strings(node['left'])), ...strings(node['right'])];
    case 'BinaryExpression':
      return node['operator'] === '+' ? [node['left'], node['right']].flatMap(strings) : [];
    case 'JSXExpressionContainer':
    case 'TSAsExpression':
      return strings(node['expression']);
    default:
      return [];
  }
}

/** @returns texts that a style sheet shows, or has said by screen readers */
export function styledTexts(sheet: string): string[] {
  return [...sheet.matchAll(/^\s*content:(.*);/gm)]
    .map(([, value = '']) => value.trim())
    .filter((value) => /'[^']*\p{L}/u.test(value));
}

function walk({ path, text }: Source, visit: (node: Node) => void): void {
  const step = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(step);
    if (!isNode(part)) return;
    visit(part);
    for (const [name, each] of Object.entries(part)) if (name !== 'loc' && name !== 'range') step(each);
  };
  // The TypeScript compiler, since version 7, gives no syntax tree without a process of its own.
  const { body } = parsers.typescript.parse(text, { filepath: path } as never) as Node;
  step(body);
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part;
}

function nodes(part: unknown): Node[] {
  return Array.isArray(part) ? part.filter(isNode) : [];
}

/** Of an identifier, an attribute or a key. */
function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  return String(node['name'] ?? node['value']);
}

/** @returns the names of the places and tags of a message of the catalogue, sorted */
export function placesOf(message: string): string[] {
  const names = new Set<string>();
  const collect = (parts: readonly MessageFormatElement[]): void => {
    for (const part of parts) {
      if (!isLiteralElement(part) && !isPoundElement(part)) names.add(part.value);
      if ('options' in part) for (const option of Object.values(part.options)) collect(option.value);
      if ('children' in part) collect(part.children);
    }
  };
  collect(parse(message));
  return [...names].toSorted();
}

/** Declarations of a style sheet that mean a side of the window whatever direction its language is written in. */

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
