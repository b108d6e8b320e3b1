import { t } from '../i18n/translate.ts';
import type { TunnelView } from './snapshot.ts';

/** Where a tunnel leads, in a sentence: `folder dist`, or `port 3000`. */
export function leadsTo({ folder, localPort }: Pick<TunnelView, 'folder' | 'localPort'>): string {
  return folder === undefined
    ? t('common.leadsToPort', { port: localPort })
    : t('common.leadsToFolder', { folder });
}
