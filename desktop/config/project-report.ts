/** Reports what is wrong with `culvert.yml`. */
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { type Document, isMap, type LineCounter, type Node } from 'yaml';
import { ProjectFileError } from './project-error.ts';

/** Collects problems, and finds the lines they are on. */
export class ProjectReport {
  readonly #path: string;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #problems: { line: number; text: string }[] = [];

  constructor(path: string, document: Document, lines: LineCounter) {
    this.#path = path;
    this.#document = document;
    this.#lines = lines;
  }

  /** @param line from 1 */
  add(line: number, text: string): void {
    const clean = escapeUnprintable(text);
    const end = /[.?]$/.test(clean) ? '' : '.';
    this.#problems.push({ line, text: `${this.#path}:${line}: ${clean}${end}` });
  }

  /** @param path the names that lead to the field */
  field(path: readonly string[], text: string): void {
    this.add(this.#lineOf(path), path.length === 0 ? text : `${path.join('.')}: ${text}`);
  }

  error(): ProjectFileError {
    const problems = this.#problems.toSorted((a, b) => a.line - b.line);
    return new ProjectFileError(problems.map(({ text }) => text).join('\n'));
  }

  /** @throws ProjectFileError when there is a problem */
  end(): void {
    if (this.#problems.length > 0) throw this.error();
  }

  /** The line of the field's name; if the field is missing, of what contains it. */
  #lineOf(path: readonly string[]): number {
    let node: unknown = this.#document.contents;
    let offset = 0;
    for (const name of path) {
      if (!isMap(node)) break;
      const pair = node.items.find(({ key }) => String(key) === name);
      if (pair === undefined) break;
      offset = (pair.key as Node | null)?.range?.[0] ?? offset;
      node = pair.value;
    }
    return this.#lines.linePos(offset).line || 1;
  }
}
