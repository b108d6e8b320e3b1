/**
 * How far V8's old generation may grow before a garbage collection. By default V8 decides by the speed of growth and of
 * collection, which suits neither end. Old objects are mostly closed connections, so four times the memory in use is too
 * much. But V8 also counts the 64 KiB of each read, so a small heap that may only double is collected as a whole up to
 * twenty times a second while large bodies pass.
 */
const FLAG = '--heap-growing-percent';
/**
 * Memory by which V8's old generation may grow after one garbage collection before the next. Measured with bodies
 * of 100 KB: at a relay with 16 MB in use, a growth of 16 MB costs up to three times the CPU.
 */
const GROWTH_MIN_BYTES = 48 * 1024 * 1024;
/** The same for a large heap, in % of the memory in use. Measured: V8's own choice, up to 300, takes as much CPU. */
const GROWTH_MIN_PERCENT = 100;
/** The same for a heap that has only begun to fill. */
const GROWTH_MAX_PERCENT = 600;
/** How often the growth is adapted to the memory in use. */
const ADAPT_MS = 10_000;

/** The used part of `node:v8`. */
interface Heap {
  setFlagsFromString(flag: string): void;
  getHeapStatistics(): { readonly used_heap_size: number };
}

/**
 * Sets that limit, and adapts it to the memory in use. V8 reads the setting at each collection, so no restart is needed.
 * Respects a setting of the operator.
 *
 * @param execArgv options of Node that the program was started with
 */
export function limitOldGeneration(execArgv: readonly string[], heap: Heap): void {
  if (execArgv.some((option) => option.startsWith(FLAG))) return;
  const adapt = (): void => {
    const percent = Math.round((100 * GROWTH_MIN_BYTES) / heap.getHeapStatistics().used_heap_size);
    heap.setFlagsFromString(`${FLAG}=${Math.max(GROWTH_MIN_PERCENT, Math.min(percent, GROWTH_MAX_PERCENT))}`);
  };
  adapt();
  setInterval(adapt, ADAPT_MS).unref();
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
