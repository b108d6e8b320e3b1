/**
 * Deliberate breaks of a source file, derived from its syntax tree. Each is a small change that a careless edit could
 * make.
 */
import { parsers } from 'prettier/plugins/typescript';

/** A part of a file, and its replacement. */
export interface Break {
  /** of the first character, from 1 */
  readonly line: number;
  /** offsets in the text */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A node of the syntax tree, as ESTree has them. */
interface Node {
  readonly type: string;
  readonly range: readonly [start: number, end: number];
  readonly [part: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '&&': '||',
  '||': '&&',
};
/** TypeScript nodes that contain an expression. All other TypeScript nodes are types. */
const TRANSPARENT = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/**
 * @param source TypeScript
 * @returns every break of its conditions, operators, numbers, truth values and statements, in the order of the text
 */
export function breaksOf(source: string): Break[] {
  const breaks: Break[] = [];
  const add = ([start, end]: readonly [number, number], text: string): void => {
    const line = source.slice(0, start).split('\n').length;
    if (source.slice(start, end) !== text) breaks.push({ line, start, end, text });
  };
  walk(parsers.typescript.parse(source, { filepath: 'source.ts' } as never), (node) => {
    const { operator, left, right, test, argument, value } = node;
    switch (node.type) {
      case 'IfStatement':
      case 'ConditionalExpression':
        if (isNode(test)) for (const text of ['true', 'false']) add(test.range, text);
        break;
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const other = OPERATORS[String(operator)];
        if (other === undefined || !isNode(left) || !isNode(right)) break;
        const at = source.indexOf(String(operator), left.range[1]);
        add([at, at + String(operator).length], other);
        break;
      }
      case 'UnaryExpression':
        if (operator === '!' && isNode(argument)) add([node.range[0], argument.range[0]], '');
        break;
      case 'Literal':
        if (typeof value === 'boolean') add(node.range, String(!value));
        if (typeof value === 'number') add(node.range, String(value + 1));
        break;
      case 'ExpressionStatement':
        add(node.range, ';');
        break;
    }
  });
  return breaks.toSorted((one, other) => one.start - other.start || one.end - other.end);
}

/** @returns the text with one break */
export function broken(source: string, { start, end, text }: Break): string {
  return source.slice(0, start) + text + source.slice(end);
}

function walk(part: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(part)) for (const each of part) walk(each, visit);
  if (!isNode(part) || part.type === 'ImportDeclaration') return;
  if (part.type.startsWith('TS') && !TRANSPARENT.has(part.type)) return;
  visit(part);
  for (const [name, each] of Object.entries(part)) if (name !== 'loc' && name !== 'range') walk(each, visit);
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
}
