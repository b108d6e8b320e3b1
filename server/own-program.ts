/**
 * What the relay needs to start itself or a part of itself. The parts are files beside it, or in it where it is a single
 * file (release/programs.ts).
 */
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/** The word before the name of a part with which a single-file program runs only that part. */
const PART = '--part';

/** @returns the program that starts this one again, and its first arguments */
export function ownCommand(): [string, ...string[]] {
  return isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
}

/**
 * @param name of a part, a file without its extension, that runs as a process of its own
 * @param place `import.meta.url` of the file beside it
 * @returns the program that starts it, and its first arguments
 */
export function partCommand(name: string, place: string): [string, ...string[]] {
  return isSea() ? [process.execPath, PART, name] : [process.execPath, fileURLToPath(partFile(name, place))];
}

/**
 * @param name of a part that runs as a thread, see {@link partCommand}
 * @returns the first argument of `Worker`, and its option `eval`
 */
export function partThread(name: string, place: string): { readonly program: string | URL; eval: boolean } {
  return isSea()
    ? { program: getAsset(`${name}.cjs`, 'utf8'), eval: true }
    : { program: partFile(name, place), eval: false };
}

/** In a build, parts are CommonJS, with which Node starts faster. */
function partFile(name: string, place: string): URL {
  return new URL(`./${name}.${place.endsWith('.ts') ? 'ts' : 'cjs'}`, place);
}

/** @returns the part as which a single-file program was started, whose arguments are the usual ones from then on */
export function takePart(): string | undefined {
  const [, , word, name] = process.argv;
  if (word !== PART) return undefined;
  process.argv.splice(2, 2);
  return name;
}
