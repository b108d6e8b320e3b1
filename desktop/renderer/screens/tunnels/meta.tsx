import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { bytesText } from '../../model/numbers.ts';
import { rich } from '../../view/rich.tsx';

/** State in a word, where the tunnel leads, and how often it was used. */
export function Meta({ tunnel, word }: { tunnel: TunnelView; word: string }): JSX.Element {
  const { requests, localPort, folder, framework } = tunnel;
  return (
    <p class="meta">
      <span class="word">{word}</span>
      <span>
        <span aria-hidden="true">→ </span>
        <span class="unseen">{t('meta.leadsTo')}</span>
        {folder === undefined ? <b>localhost:{localPort}</b> : rich('meta.folder', { folder })}
        {framework !== undefined && ` ${framework}`}
      </span>
      {requests > 0 && <span class="requests">{rich('meta.requests', { requests })}</span>}
    </p>
  );
}

/** Bytes of both directions. */
export function Traffic({ tunnel: { bytesIn, bytesOut } }: { tunnel: TunnelView }): JSX.Element {
  return (
    <>
      <Bytes arrow="↑" words={t('meta.received')} bytes={bytesIn} />
      <Bytes arrow="↓" words={t('meta.sent')} bytes={bytesOut} />
    </>
  );
}

function Bytes({ arrow, words, bytes }: { arrow: string; words: string; bytes: number }): JSX.Element {
  return (
    <span title={`${bytesText(bytes)} ${words}`}>
      <span aria-hidden="true">{arrow} </span>
      <b>{bytesText(bytes)}</b>
      <span class="unseen"> {words}</span>
    </span>
  );
}
