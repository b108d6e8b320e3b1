/**
 * How much memory V8 may use for young objects. By default it lets them take up to 128 MB in a burst, keeps that for good,
 * and then stops everything for 10 to 50 ms at a time to search it. A relay's objects are short-lived and small, so little
 * room serves as well, with stops of a millisecond or two.
 */
import { YOUNG_GENERATION_MIB } from '../limits.ts';

/** V8's young generation has three parts of the same size. */
const FLAG = `--max-semi-space-size=${YOUNG_GENERATION_MIB}`;

/** What is used of `process`. */
export type RestartableProcess = Pick<
  NodeJS.Process,
  'argv' | 'env' | 'execArgv' | 'execPath' | 'execve' | 'platform'
>;

/**
 * Restarts the program in place, as the same process, with room for {@link YOUNG_GENERATION_MIB} of young objects in each
 * part: V8 reads the setting only at its start. Does nothing if it has been set, by the operator or here, or if a process
 * cannot be restarted in place (Windows, Node before 22.15).
 */
export function limitYoungGeneration(program: RestartableProcess): void {
  const { argv, env, execArgv, execPath, platform } = program;
  const given = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ');
  if (given.includes('semi-space-size')) return;
  // Windows has the function, too, but it throws there.
  if (platform === 'win32' || program.execve === undefined) return;
  program.execve(execPath, [execPath, FLAG, ...execArgv, ...argv.slice(1)], env);
}
