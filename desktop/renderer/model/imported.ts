import { REDACTED } from '../../../shared/redacted.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { t } from '../../i18n/translate.ts';
import type { Imported } from '../../shared/transfer.ts';

/** Of what was left out, as much as anybody reads. */
const MOST_LEFT_OUT = 5;

/** How many requests were imported, and behind that what else there is to say, a sentence each. */
export function importedWords({ ids, leftOut, hasRedacted }: Imported): readonly string[] {
  const more = leftOut.length - MOST_LEFT_OUT;
  return [
    t('import.done', { count: ids.length }),
    ...leftOut.slice(0, MOST_LEFT_OUT).map((text) => escapeUnprintable(text)),
    ...(more > 0 ? [t('import.moreLeftOut', { count: more })] : []),
    ...(hasRedacted ? [t('import.redacted', { mark: REDACTED })] : []),
  ];
}
