import type { JSX } from 'preact';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { bytesText, countText } from '../../model/numbers.ts';

/** State in a word, where the tunnel leads, and what went through it. */
export function Meta({ tunnel, word }: { tunnel: TunnelView; word: string }): JSX.Element {
  const { requests, bytesIn, bytesOut, localPort, framework } = tunnel;
  return (
    <p class="meta">
      <span class="word">{word}</span>
      <span>
        <span aria-hidden="true">→ </span>
        <span class="unseen">leads to </span>
        <b>localhost:{localPort}</b>
        {framework !== undefined && ` ${framework}`}
      </span>
      {requests > 0 && (
        <span class="requests">
          <b>{countText(requests)}</b> {requests === 1 ? 'request' : 'requests'}
        </span>
      )}
      {bytesIn > 0 && <Traffic arrow="↑" words="received from visitors" bytes={bytesIn} />}
      {bytesOut > 0 && <Traffic arrow="↓" words="sent to visitors" bytes={bytesOut} />}
    </p>
  );
}

function Traffic({ arrow, words, bytes }: { arrow: string; words: string; bytes: number }): JSX.Element {
  return (
    <span title={`${bytesText(bytes)} ${words}`}>
      <span aria-hidden="true">{arrow} </span>
      <b>{bytesText(bytes)}</b>
      <span class="unseen"> {words}</span>
    </span>
  );
}
