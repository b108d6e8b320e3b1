/** When a request that is repeated until it succeeds is sent the next time. */

/** Requests that are sent; nobody watches more. */
export const TRIES_MAX = 30;
/** ms in all. */
export const UNTIL_MS = 10 * 60_000;
/** ms between two looks whether the local server listens again. */
const LISTEN_MS = 1000;
/** ms before the second try, half as much again before each further one, and at most so many. */
const FIRST_MS = 2000;
const LAST_MS = 30_000;

/**
 * ms until the next try.
 *
 * @param tries requests that have been sent
 * @param isRefused nothing listens on the local port, so nothing was sent
 * @param elapsedMs since the first try
 * @returns `undefined` once it is over
 */
export function nextTry(tries: number, isRefused: boolean, elapsedMs: number): number | undefined {
  const wait = isRefused ? LISTEN_MS : Math.min(FIRST_MS * 1.5 ** Math.max(0, tries - 1), LAST_MS);
  return tries >= TRIES_MAX || elapsedMs + wait > UNTIL_MS ? undefined : wait;
}

/** A final response of the 2xx class. */
export function isOk(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}
