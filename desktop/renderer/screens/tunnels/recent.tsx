import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { RequestRow } from '../log/request-row.tsx';
import { Traffic } from './meta.tsx';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';

/** As many as one can see at a glance. */
const SHOWN = 3;

/** The last few requests, a link to all of them, and how they went. */
export function Recent({ tunnel }: { tunnel: TunnelView }): JSX.Element | null {
  const { go } = useShell();
  const { key, slug, recent } = tunnel;
  const rows = useRef<HTMLUListElement>(null);
  // A row goes when newer requests come.
  useKeptFocus(rows, () => document.getElementById(`log-${key}`));
  if (recent.length === 0 && tunnel.requests === 0) return null;
  return (
    <div class="recent">
      {recent.length > 0 && (
        <ul ref={rows} class="rows" aria-label={t('tunnels.lastRequests', { slug })}>
          {recent.slice(0, SHOWN).map((request) => (
            <RequestRow key={request.id} tunnelKey={key} request={request} />
          ))}
        </ul>
      )}
      <div class="totals">
        <button
          type="button"
          id={`log-${key}`}
          class="link"
          aria-label={t('tunnels.allRequestsTo', { slug })}
          onClick={() => go({ screen: 'log', key })}
        >
          {t('tunnels.allRequests')}
        </button>
        {/* Of one that was started again, the relay counts anew, and the rows are older. */}
        {tunnel.requests > 0 && <Traffic tunnel={tunnel} />}
      </div>
    </div>
  );
}
