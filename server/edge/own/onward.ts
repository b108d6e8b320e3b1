/** Addresses that the relay's own pages lead on to. */

/** @returns the path without a parameter that a page of the relay has added at its end */
export function withoutParameter(path: string, parameter: string): string {
  const end = path.length - parameter.length - 1;
  const isThere = path.endsWith(parameter) && (path[end] === '?' || path[end] === '&');
  return isThere ? path.slice(0, end) : path;
}

/** A path as a reference that stays on its host: one that begins with two slashes would name another host. */
export function onThisHost(path: string): string {
  const written = path.replaceAll(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  return /^\/[/\\]/.test(written) ? `/.${written}` : written;
}
