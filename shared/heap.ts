/**
 * How far V8's memory for old objects may grow before garbage is searched in it. V8 decides that by how fast it has grown and
 * how fast it was searched, which suits neither end: a relay's old objects are closed connections, so four times what is in use
 * is much; a client has few, and counts the 64 KiB of each read among them, so that it would search all of its memory some twenty
 * times a second while a large body passes.
 */
const FLAG = '--heap-growing-percent';

/**
 * Sets how far. V8 reads the setting each time, so no restart is needed. Does nothing if the operator has set it.
 *
 * @param percent of what was in use the last time
 * @param execArgv options of Node with which the program was started
 * @param setFlag `setFlagsFromString` of Node's v8
 */
export function limitOldGeneration(
  percent: number,
  execArgv: readonly string[],
  setFlag: (flag: string) => void,
): void {
  if (!execArgv.some((option) => option.startsWith(FLAG))) setFlag(`${FLAG}=${percent}`);
}

/*
 * How much memory V8 may use for young objects. By default it lets them take up to 128 MB in a burst, keeps that for good,
 * and then stops everything for 10 to 50 ms at a time to search it. Objects of relay and client are short-lived and small; but
 * each read comes with 64 KiB of memory outside of V8, which is free only once young objects are searched, and where that is
 * seldom, V8 searches all objects again and again instead. The app keeps V8's choice, for old objects as well: Electron has a V8 of
 * its own, whose flags nobody has measured with it, and its objects are those of a window, too.
 */

/** 1: the memory stays as it is, at 1 or 2 MiB in each of its parts soon after a start. V8 reads the setting each time it would grow. */
const YOUNG_GENERATION_FLAG = '--semi-space-growth-factor=1';

/**
 * Lets the memory for young objects stay as it is. To be called early. Does nothing if the operator has
 * chosen its size.
 *
 * @param execArgv options of Node with which the program was started
 * @param env where there may be more of them
 * @param setFlag `setFlagsFromString` of Node's v8
 */
export function limitYoungGeneration(
  { execArgv, env }: Pick<NodeJS.Process, 'execArgv' | 'env'>,
  setFlag: (flag: string) => void,
): void {
  const given = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ');
  if (!given.includes('semi-space')) setFlag(YOUNG_GENERATION_FLAG);
}
