import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { WrittenHar } from '../../shared/transfer.ts';
import { plural } from './numbers.ts';

/** What was written, and where. */
export function writtenText({ path, count, missing, hidesSecrets }: WrittenHar): string {
  const secrets = hidesSecrets ? ', without secrets' : '';
  const gone = missing > 0 ? ` What was recorded of ${missing} more is no longer kept.` : '';
  return `${plural(count, 'request is', 'requests are')} in ${escapeUnprintable(path)}${secrets}.${gone}`;
}
