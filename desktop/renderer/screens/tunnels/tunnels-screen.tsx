import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { SessionView, Snapshot } from '../../../shared/snapshot.ts';
import type { FormDraft } from '../../model/create-form.ts';
import { filterTunnels } from '../../model/filter.ts';
import { filterOthers } from '../../model/other-tunnel.ts';
import { outageView } from '../../model/outage.ts';
import { capitalised } from '../../model/numbers.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Icon, Mark } from '../../view/icons.tsx';
import { isTyping, useKey } from '../../view/keys.ts';
import { SearchField } from '../../view/search-field.tsx';
import { UndoDock } from '../../view/undo-dock.tsx';
import { CreateBar } from './create-bar.tsx';
import { Empty } from './empty.tsx';
import { Others } from './others.tsx';
import { OutageNotice } from './outage-notice.tsx';
import { TunnelCard } from './tunnel-card.tsx';
import { UpdateNotice } from './update-notice.tsx';

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
  isPane,
}: {
  snapshot: Snapshot;
  session: SignedIn;
  search: string;
  setSearch: (search: string) => void;
  draft: FormDraft;
  setDraft: (draft: FormDraft) => void;
  /** whether another screen is beside it, which is then the main one */
  isPane: boolean;
}): JSX.Element {
  const List = isPane ? 'section' : 'main';
  const Pane = isPane ? 'section' : 'div';
  const { go } = useShell();
  const { tunnels, others, ports } = snapshot;
  const all = tunnels.length + others.length;
  const { account } = session;
  const outage = outageView(snapshot);
  const typed = all < SEARCHED_FROM ? '' : search;
  const shown = filterTunnels(tunnels, typed, Date.now());
  const shownOthers = filterOthers(others, typed);
  const cards = useRef<HTMLUListElement>(null);
  useKeptFocus(cards, (place) => {
    const list = cards.current?.children;
    const next = list?.[Math.min(place, list.length - 1)];
    return next?.querySelector('button') ?? document.getElementById('port');
  });
  useKey(
    (event) => event.key === '/' && !isTyping(event) && all >= SEARCHED_FROM,
    () => document.getElementById('search-tunnels')?.focus(),
  );

  return (
    <Pane class="screen" aria-label={isPane ? 'Culvert' : undefined}>
      <header class="bar home">
        <Mark />
        <h1 translate={false}>Culvert</h1>
        <span class="who dim" title={session.relay}>
          {t('tunnels.nameAndPlan', { name: account.name, plan: capitalised(account.plan) })}
        </span>
        <button
          type="button"
          id="settings"
          class="icon-button"
          aria-label={t('tunnels.settings')}
          title={t('tunnels.settings')}
          onClick={() => go({ screen: 'settings' })}
        >
          <Icon name="settings" />
        </button>
      </header>
      <List class="scroll list" aria-label={t('tunnels.tunnels')}>
        {outage !== undefined && <OutageNotice outage={outage} />}
        {snapshot.update !== undefined && <UpdateNotice update={snapshot.update} />}
        {all >= SEARCHED_FROM && (
          <SearchField
            id="search-tunnels"
            label={t('tunnels.search')}
            placeholder={t('tunnels.searchAll', { all })}
            value={search}
            onChange={setSearch}
          />
        )}
        {tunnels.length === 0 && <Empty ports={ports} />}
        {all > 0 && typed !== '' && shown.length + shownOthers.length === 0 && (
          <p class="dim nothing">{t('tunnels.noMatch', { search })}</p>
        )}
        <ul ref={cards} class="cards">
          {shown.map((tunnel) => (
            <TunnelCard
              key={tunnel.key}
              tunnel={tunnel}
              maxTtl={account.maxTtl}
              isQuiet={outage !== undefined}
            />
          ))}
        </ul>
        <Others tunnels={shownOthers} maxTtl={account.maxTtl} />
      </List>
      <UndoDock />
      <CreateBar context={{ account, ports, tunnels }} draft={draft} setDraft={setDraft} />
    </Pane>
  );
}
