import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The state of the sources that a report was made from. */
export interface TreeState {
  /** the date, in UTC */
  readonly date: string;
  /** followed by a note if the tree has changes; changes to pages and reports do not count */
  readonly commit: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_SOURCES = [':!*.md', ':!docs'];

/** The checked-out commit, and whether the tree has changes. */
export function treeState(now: Date): TreeState {
  const isChanged = git('status', '--porcelain', '--', '.', ...NOT_SOURCES) !== '';
  const commit = git('rev-parse', '--short', 'HEAD');
  return { date: now.toISOString().slice(0, 10), commit: isChanged ? `${commit} with changes` : commit };
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
