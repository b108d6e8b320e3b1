/** Node's own SQLite. */
import type * as sqlite from 'node:sqlite';

/**
 * Loads `node:sqlite` without the notice that some Node versions print about it: what it says is for developers, and
 * those who run a relay can do nothing about it. Other warnings pass.
 */
export function loadSqlite(): typeof sqlite {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith('SQLite is an experimental feature')) {
      Reflect.apply(emitWarning, process, args);
    }
  };
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}
