import { t } from '../../i18n/translate.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { WrittenHar } from '../../shared/transfer.ts';

/** What was written, and where. */
export function writtenText({ path, count, missing, hidesSecrets }: WrittenHar): string {
  return t('log.harWritten', {
    count,
    path: escapeUnprintable(path),
    hidesSecrets: String(hidesSecrets),
    missing,
  });
}
