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
        <span class="turns" aria-hidden="true">
          →
        </span>{' '}
        <span class="unseen">{t('meta.leadsTo')} </span>
        {folder === undefined ? <b dir="ltr">localhost:{localPort}</b> : rich('meta.folder', { folder })}
        {framework !== undefined && (
          <>
            {' '}
            <bdi>{framework}</bdi>
          </>
        )}
      </span>
      {requests > 0 && <span class="requests">{rich('meta.requests', { requests })}</span>}
    </p>
  );
}

/** Bytes of both directions. */
export function Traffic({ tunnel: { bytesIn, bytesOut } }: { tunnel: TunnelView }): JSX.Element {
  return (
    <>
      <Bytes arrow="↑" said="meta.received" bytes={bytesText(bytesIn)} />
      <Bytes arrow="↓" said="meta.sent" bytes={bytesText(bytesOut)} />
    </>
  );
}

function Bytes({
  arrow,
  said,
  bytes,
}: {
  arrow: string;
  said: 'meta.received' | 'meta.sent';
  bytes: string;
}): JSX.Element {
  const words = t(said, { bytes });
  return (
    <span title={words}>
      <span aria-hidden="true">
        {arrow} <b>{bytes}</b>
      </span>
      <span class="unseen">{words}</span>
    </span>
  );
}
