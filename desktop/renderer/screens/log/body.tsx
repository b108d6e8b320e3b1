import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { RecordedMessage } from '../../../engine/inspector/records.ts';
import { bodyView, hexDump } from '../../model/body.ts';
import { bytesText } from '../../model/numbers.ts';

const WAYS = { pretty: 'Pretty', text: 'As sent', hex: 'Hex' } as const;
type Way = keyof typeof WAYS;

/** A body, in the way of showing it that suits it best, with the others to choose from. */
export function Body({ of, message }: { of: string; message: RecordedMessage }): JSX.Element {
  const [chosen, setChosen] = useState<Way>();
  const view = useMemo(() => bodyView(message), [message]);
  const hex = useMemo(
    () => (chosen === 'hex' || view.kind === 'binary' ? hexDump(message.body) : ''),
    [chosen, view, message],
  );
  if (view.kind === 'empty') return <p class="hint">No body.</p>;

  const ways = (Object.keys(WAYS) as Way[]).filter(
    (way) => way === 'hex' || (view.kind === 'text' && (way === 'text' || view.pretty !== undefined)),
  );
  const way = chosen ?? ways[0] ?? 'hex';
  const shown = way === 'hex' || view.kind === 'binary' ? hex : way === 'pretty' ? view.pretty : view.text;
  return (
    <>
      <div class="body-bar">
        <span class="hint">
          {bytesText(message.body.length)}
          {message.isTruncated && ', the beginning of a longer body'}
          {view.kind === 'binary' && `. ${view.why}`}
        </span>
        {ways.length > 1 && (
          <span class="ways" role="group" aria-label={`${of} body shown as`}>
            {ways.map((each) => (
              <button
                key={each}
                type="button"
                class="link"
                aria-pressed={each === way}
                onClick={() => setChosen(each)}
              >
                {WAYS[each]}
              </button>
            ))}
          </span>
        )}
      </div>
      {/* A region that scrolls must be reachable without a mouse. */}
      <pre class="body mono" tabIndex={0} role="region" aria-label={`${of} body`}>
        {shown}
      </pre>
    </>
  );
}
