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
