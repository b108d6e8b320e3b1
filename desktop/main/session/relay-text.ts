/** The address of a relay as people type it. */
import type { Problem } from '../../shared/snapshot.ts';

export const NOT_ENCRYPTED: Problem = {
  code: 'not-encrypted',
  text: 'This relay is not encrypted: others on the way could read your key. Give an address that begins with https://.',
};

/** People type `relay.example.com`, or `localhost:8080` to try things out. */
export function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(text) ? `http://${text}` : `https://${text}`;
}
