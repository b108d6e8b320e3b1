/**
 * How far V8's old generation may grow before a garbage collection. By default V8 decides by the speed of growth and of
 * collection, which suits neither end. A relay's old objects are closed connections, so four times the memory in use is
 * too much. A client has few old objects, but V8 adds the 64 KiB of each read to them, and would collect its whole heap
 * about twenty times a second while a large body passes.
 */
const FLAG = '--heap-growing-percent';

/**
 * Sets that limit. V8 reads the setting each time, so no restart is needed. Respects a setting of the
 * operator.
 *
 * @param percent of the memory in use after the last collection
 * @param execArgv options of Node that the program was started with
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
 * How much memory V8 may use for the young generation. By default it grows up to 128 MB in a burst, stays that large,
 * and then pauses everything for 10 to 50 ms per collection. Objects of relay and client are short-lived and small. But
 * each read comes with 64 KiB of memory outside of V8, which is released only by a collection of the young generation;
 * if that is rare, V8 collects the whole heap again and again instead. The app keeps V8's defaults, for the old
 * generation as well: the flags were not measured with Electron's own V8, and its heap also contains the objects of a
 * window.
 */

/** 1: each part keeps the 1 or 2 MiB that it has soon after a start. V8 reads the setting each time it would grow. */
const YOUNG_GENERATION_FLAG = '--semi-space-growth-factor=1';

/**
 * Keeps the young generation at its initial size. Call early. Respects a size chosen by the operator.
 *
 * @param execArgv options of Node that the program was started with
 * @param env may contain more options
 * @param setFlag `setFlagsFromString` of Node's v8
 */
export function limitYoungGeneration(
  { execArgv, env }: Pick<NodeJS.Process, 'execArgv' | 'env'>,
  setFlag: (flag: string) => void,
): void {
  const given = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ');
  if (!given.includes('semi-space')) setFlag(YOUNG_GENERATION_FLAG);
}
