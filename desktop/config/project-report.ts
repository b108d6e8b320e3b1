/** Reports what is wrong with `culvert.yml`. */
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { isLines, say, type Sayable, textOf } from '../engine/said/said.ts';
import { type Document, isMap, type LineCounter, type Node } from 'yaml';
import { ProjectFileError } from './project-error.ts';

/** Collects problems, and finds the lines they are on. */
export class ProjectReport {
  readonly #path: string;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #problems: { line: number; said: Sayable }[] = [];

  constructor(path: string, document: Document, lines: LineCounter) {
    this.#path = path;
    this.#document = document;
    this.#lines = lines;
  }

  /** @param line from 1 */
  add(line: number, said: Sayable): void {
    this.#problems.push({
      line,
      said: say('project.problem', { path: this.#path, line, problem: sentence(said) }),
    });
  }

  /** @param path the names that lead to the field */
  field(path: readonly string[], said: Sayable): void {
    const line = this.#lineOf(path);
    if (path.length === 0) return this.add(line, said);
    const values = {
      path: this.#path,
      line,
      field: escapeUnprintable(path.join('.')),
      problem: sentence(said),
    };
    this.#problems.push({ line, said: say('project.fieldProblem', values) });
  }

  error(): ProjectFileError {
    const problems = this.#problems.toSorted((a, b) => a.line - b.line);
    return new ProjectFileError(problems.map(({ said }) => said));
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

/** With an end, and without what a terminal would take for a command. */
function sentence(said: Sayable): Sayable {
  const clause = printable(said);
  return /[.?]$/.test(textOf(clause)) ? clause : say('project.sentence', { clause });
}

function printable(said: Sayable): Sayable {
  if (typeof said === 'string') return escapeUnprintable(said);
  if (isLines(said)) return said.map(printable);
  if (!('code' in said)) return said;
  const values = Object.entries(said.values).map(([name, value]) => {
    return [name, typeof value === 'number' ? value : printable(value)] as const;
  });
  return say(said.code, Object.fromEntries(values));
}
