/** The address of a relay as people type it. */
import { t } from '../../i18n/translate.ts';
import type { Problem } from '../../shared/snapshot.ts';

export function notEncrypted(): Problem {
  return { code: 'not-encrypted', text: t('problem.notEncrypted') };
}

/** People type `relay.example.com`, or `localhost:8080` to try things out. */
export function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(text) ? `http://${text}` : `https://${text}`;
}
