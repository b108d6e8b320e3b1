import type { JSX } from 'preact';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { bytesText, countText } from '../../model/numbers.ts';

/** State in a word, where the tunnel leads, and how often it was used. */
export function Meta({ tunnel, word }: { tunnel: TunnelView; word: string }): JSX.Element {
  const { requests, localPort, folder, framework } = tunnel;
  return (
    <p class="meta">
      <span class="word">{word}</span>
      <span>
        <span aria-hidden="true">→ </span>
        <span class="unseen">leads to </span>
        {folder === undefined ? (
          <b>localhost:{localPort}</b>
        ) : (
          <>
            folder <b>{folder}</b>
          </>
        )}
        {framework !== undefined && ` ${framework}`}
      </span>
      {requests > 0 && (
        <span class="requests">
          <b>{countText(requests)}</b> {requests === 1 ? 'request' : 'requests'}
        </span>
      )}
    </p>
  );
}

/** Bytes of both directions. */
export function Traffic({ tunnel: { bytesIn, bytesOut } }: { tunnel: TunnelView }): JSX.Element {
  return (
    <>
      <Bytes arrow="↑" words="received from visitors" bytes={bytesIn} />
      <Bytes arrow="↓" words="sent to visitors" bytes={bytesOut} />
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
