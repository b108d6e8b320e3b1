import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { SessionView, Snapshot } from '../../../shared/snapshot.ts';
import type { FormDraft } from '../../model/create-form.ts';
import { filterTunnels } from '../../model/filter.ts';
import { capitalised } from '../../model/numbers.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Icon, Mark } from '../../view/icons.tsx';
import { hasCommand, useKey } from '../../view/keys.ts';
import { CreateBar } from './create-bar.tsx';
import { Empty } from './empty.tsx';
import { RelayNotice } from './relay-notice.tsx';
import { TunnelCard } from './tunnel-card.tsx';

/** From this many on, a list is searched rather than read. */
const SEARCHED_FROM = 8;

type SignedIn = Extract<SessionView, { state: 'signed-in' }>;

/** The main screen: one list, one action. */
export function TunnelsScreen({
  snapshot,
  session,
  search,
  setSearch,
  draft,
  setDraft,
}: {
  snapshot: Snapshot;
  session: SignedIn;
  search: string;
  setSearch: (search: string) => void;
  draft: FormDraft;
  setDraft: (draft: FormDraft) => void;
}): JSX.Element {
  const { go } = useShell();
  const { tunnels, ports } = snapshot;
  const { account } = session;
  const shown = filterTunnels(tunnels, tunnels.length < SEARCHED_FROM ? '' : search);
  const cards = useRef<HTMLUListElement>(null);
  useKeptFocus(cards, (place) => {
    const list = cards.current?.children;
    const next = list?.[Math.min(place, list.length - 1)];
    return next?.querySelector('button') ?? document.getElementById('port');
  });
  useKey(
    (event) => hasCommand(event) && event.key === ',',
    () => go({ screen: 'settings' }),
  );

  return (
    <div class="screen">
      <header class="bar home">
        <Mark />
        <h1>Culvert</h1>
        <span class="who dim" title={session.relay}>
          {account.name} · {capitalised(account.plan)} plan
        </span>
        <button
          type="button"
          id="settings"
          class="icon-button"
          aria-label="Settings"
          title="Settings"
          onClick={() => go({ screen: 'settings' })}
        >
          <Icon name="settings" />
        </button>
      </header>
      <main class="scroll list" aria-label="Tunnels">
        <RelayNotice problem={session.problem} hasNetwork={snapshot.hasNetwork} />
        {tunnels.length >= SEARCHED_FROM && (
          <input
            type="search"
            class="search"
            aria-label="Search tunnels"
            placeholder={`Search ${tunnels.length} tunnels`}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        {tunnels.length === 0 && <Empty ports={ports} />}
        {tunnels.length > 0 && shown.length === 0 && <p class="dim nothing">No tunnel matches “{search}”.</p>}
        <ul ref={cards} class="cards">
          {shown.map((tunnel) => (
            <TunnelCard key={tunnel.key} tunnel={tunnel} maxTtl={account.maxTtl} />
          ))}
        </ul>
      </main>
      <CreateBar context={{ account, ports, tunnels }} draft={draft} setDraft={setDraft} />
    </div>
  );
}
