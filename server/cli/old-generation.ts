/**
 * How much garbage V8 keeps. By default it lets its memory for old objects grow to four times what is in use; every closed
 * connection is in there, since it has outlived young objects.
 */
import { setFlagsFromString } from 'node:v8';
import { OLD_GENERATION_GROWTH_PERCENT } from '../limits.ts';

const FLAG = '--heap-growing-percent';

/**
 * Lets the memory for old objects grow by {@link OLD_GENERATION_GROWTH_PERCENT} before V8 looks for garbage in it. V8 reads
 * the setting each time, so no restart is needed. Does nothing if the operator has set it.
 *
 * @param execArgv options of Node with which the program was started
 */
export function limitOldGeneration(execArgv: readonly string[], setFlag = setFlagsFromString): void {
  if (execArgv.some((option) => option.startsWith(FLAG))) return;
  setFlag(`${FLAG}=${OLD_GENERATION_GROWTH_PERCENT}`);
}
