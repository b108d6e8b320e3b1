import type { JSX } from 'preact';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { RequestRow } from '../log/request-row.tsx';
import { useShell } from '../../view/context.ts';

/** As many as fit a glance. */
const SHOWN = 3;

/** The last few requests, and the way to all of them. */
export function Recent({ tunnel }: { tunnel: TunnelView }): JSX.Element | null {
  const { go } = useShell();
  const { key, slug, recent } = tunnel;
  if (recent.length === 0) return null;
  return (
    <div class="recent">
      <ul class="rows" aria-label={`Last requests to ${slug}`}>
        {recent.slice(0, SHOWN).map((request) => (
          <RequestRow key={request.id} tunnelKey={key} request={request} />
        ))}
      </ul>
      <button
        type="button"
        id={`log-${key}`}
        class="link more"
        aria-label={`All requests to ${slug}`}
        onClick={() => go({ screen: 'log', key })}
      >
        All requests
      </button>
    </div>
  );
}
