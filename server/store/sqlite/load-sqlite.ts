/** Node's own SQLite. */
import type * as sqlite from 'node:sqlite';

/**
 * Loads `node:sqlite` without the notice that some Node versions print about it: it is meant for developers, and those who
 * run a relay can do nothing about it. Other warnings pass.
 *
 * @throws Error if this Node has none
 */
export function loadSqlite(): typeof sqlite {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith('SQLite is an experimental feature')) {
      Reflect.apply(emitWarning, process, args);
    }
  };
  try {
    const module: typeof sqlite | undefined = process.getBuiltinModule('node:sqlite');
    if (module === undefined)
      throw new Error(`Node ${process.versions.node} has no SQLite; use Node 22.13 or newer`);
    return module;
  } finally {
    process.emitWarning = emitWarning;
  }
}
