/** Folders of what programs make or fetch. */
const MADE = new Set([
  'node_modules',
  'bower_components',
  'dist',
  'build',
  'out',
  'target',
  'coverage',
  '__pycache__',
  'venv',
  'log',
  'logs',
  'tmp',
  'temp',
]);

/** What servers and editors write beside sources: logs, databases, copies. */
const BESIDE = /(?:~|\.(?:log|tmp|temp|swp|swo|swx|pid|lock|sock|db|sqlite3?|pyc)|-(?:journal|wal|shm))$/;

/** Whether a file or folder of that name is somebody's work, rather than what a program writes while it runs; `.env` is. */
export function isSource(name: string): boolean {
  return (!name.startsWith('.') || name.startsWith('.env')) && !MADE.has(name) && !BESIDE.test(name);
}
