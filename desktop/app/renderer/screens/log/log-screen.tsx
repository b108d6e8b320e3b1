import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../../client/inspector/records.ts';
import { keptNames } from '../../../ipc/snapshot.ts';
import type { LogView } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { countedBy } from '../../model/address.ts';
import { ALL, chips, foundRequests, methodParts, partOf, visits } from '../../model/filter.ts';
import type { RequestActs } from '../../model/actions.ts';
import { outageView } from '../../model/diagnostics.ts';
import { type LoggedTunnel, loggedTunnel } from '../../model/tunnel-state.ts';
import { countText } from '../../model/numbers.ts';
import { useTime } from '../../view/clock.ts';
import { type Action, useAction, useShell, useWindow } from '../../view/context.ts';
import { SearchField } from '../../view/controls.tsx';
import { StateShape } from '../../view/icons.tsx';
import { hasCommand, isTyping, useKey } from '../../view/keyboard.ts';
import { Button, Failure, Notice, Toggles } from '../../view/kit.tsx';
import { Menu, MoreButton, type Spot, spotBelow } from '../../view/menu.tsx';
import { Screen } from '../../view/screen.tsx';
import { useExport } from '../transfer.tsx';
import { Address, CopyAddress } from '../tunnels/others.tsx';
import { awaitsFirst, TunnelControls } from '../tunnels/tunnel-controls.tsx';
import { RequestList, RequestMenu, type RowMenu, useRequestActs } from './request-list.tsx';
import { type Log, useLog } from './use-log.ts';

/** All recorded requests of one tunnel, newest first. */
export function LogScreen({
  tunnelKey,
  start,
  opened,
  follow,
  paused: frozen,
  setPaused: setFrozen,
}: {
  tunnelKey: string;
  /** number of the request that the user returns to */
  start: number | undefined;
  /** number of the request that is open beside the list */
  opened?: number | undefined;
  /** opens another one there */
  follow?: ((id: number) => void) | undefined;
  /** the requests that it shows while it is paused */
  paused: Log['requests'];
  setPaused: (requests: Log['requests']) => void;
}): JSX.Element {
  const { importTo } = useShell();
  const { snapshot, logViews } = useWindow();
  const own = snapshot.tunnels.find(({ key }) => key === tunnelKey);
  const tunnel = loggedTunnel(snapshot, tunnelKey);
  const kind = countedBy(tunnel);
  const { part, search } = logViews.viewOf(tunnel);
  const show = (view: LogView): void => logViews.show(tunnelKey, view);
  const log = useLog(tunnelKey, tunnel);
  const clear = useAction();
  const rowAction = useAction();
  const rowActs = useRequestActs(tunnelKey, rowAction.run);
  const [menu, setMenu] = useState<RowMenu>();
  const [more, setMore] = useState<Spot>();
  const har = useExport(tunnelKey);
  const all = frozen ?? log.requests;
  const elsewhere = useContentSearch(tunnelKey, search, log.requests);
  const requests = useMemo(() => all && foundRequests(all, search, elsewhere.ids), [all, search, elsewhere]);
  const shown = useMemo(() => requests && partOf(requests, part), [requests, part]);
  const rows = useMemo(() => shown && visits(shown), [shown]);
  const ids = shown?.map(({ id }) => id) ?? [];
  const acts: RequestActs = {
    ...rowActs,
    async replay(id) {
      const answer = await rowActs.replay(id);
      const tries = opened === undefined ? undefined : rows?.tries.get(opened);
      // The pane beside shows the visit that was tried again.
      if (answer.ok && (id === opened || tries?.some((each) => each.id === id) === true))
        follow?.(answer.value);
      return answer;
    },
  };
  // There is nothing to search, and its controls say how to be the first visitor.
  const isWaiting = (all?.length ?? 0) === 0 && search === '' && own !== undefined && awaitsFirst(own);
  const newest = frozen?.[0]?.id ?? 0;
  const waiting = frozen === undefined ? 0 : (log.requests?.filter(({ id }) => id > newest).length ?? 0);
  useKey(
    // The browser's search would miss rows that are not drawn. Beside a request, the keys belong to the request.
    (event) =>
      (event.key === '/' && !isTyping(event)) ||
      (event.key === 'f' && hasCommand(event) && (opened === undefined || isInLog())),
    () => document.getElementById('search-requests')?.focus(),
  );
  useFoundWords(search, requests?.length ?? 0, kind);

  const onClear = async (): Promise<void> => {
    if ((await clear.run('log:clear', { key: tunnelKey }, t('log.empty'))).ok) setFrozen(undefined);
  };

  return (
    <Screen
      title={
        tunnel === undefined ? t('log.requests', { kind }) : t('log.requestsTo', { slug: tunnel.slug, kind })
      }
      heading={tunnel && <Title tunnel={tunnel} run={rowAction.run} />}
      actions={
        <>
          {tunnel?.isLive === true && <CopyAddress tunnel={tunnel} run={rowAction.run} />}
          <MoreButton id="more-log" label={t('log.more', { kind })} open={setMore} />
        </>
      }
    >
      {own !== undefined && (
        <TunnelControls
          tunnel={own}
          kept={keptNames(snapshot.tunnels, snapshot.names).get(tunnelKey)}
          isHead
          isQuiet={outageView(snapshot) !== undefined}
        />
      )}
      {!isWaiting && (
        <SearchField
          id="search-requests"
          label={t('log.search', { kind })}
          placeholder={t('log.searchBy', { kind })}
          value={search}
          onChange={(text) => show({ part, search: text })}
        />
      )}
      {har.words !== '' && <p class="hint file-words">{har.words}</p>}
      <Failure problem={clear.error ?? rowAction.error ?? har.error ?? log.problem} />
      {tunnel === undefined && <Notice>{t('log.tunnelGone')}</Notice>}
      {requests !== undefined && requests.length > 0 && (
        <div class="log-bar">
          <PartRow requests={requests} chosen={part} choose={(chosen) => show({ part: chosen, search })} />
          <Button
            look="link last"
            aria-pressed={frozen !== undefined}
            act={() => setFrozen(frozen === undefined ? log.requests : undefined)}
          >
            {frozen === undefined
              ? t('log.freeze')
              : waiting === 0
                ? t('log.frozen')
                : t('log.newOnes', { count: waiting })}
          </Button>
        </div>
      )}
      {shown?.length === 0 && requests !== undefined && requests.length > 0 && (
        <p class="dim nothing">{t('log.noneOfThese', { kind })}</p>
      )}
      {elsewhere.isPartial && <p class="hint">{t('log.searchPartial')}</p>}
      {requests?.length === 0 && !isWaiting && <NoRequests tunnel={tunnel} search={search} />}
      {rows !== undefined && (
        <RequestList
          tunnelKey={tunnelKey}
          visits={rows}
          start={start}
          opened={opened}
          follow={follow}
          openMenu={setMenu}
          acts={acts}
        />
      )}
      {more !== undefined && (
        <Menu
          label={t('log.more', { kind })}
          spot={more}
          items={[
            ids.length > 0 &&
              kind === 'requests' && { label: t('log.exportDots'), act: () => har.run(ids, false) },
            tunnel?.canImport === true && { label: t('log.importDots'), act: () => importTo(tunnelKey) },
            tunnel?.isOwn !== false && { label: t('log.clear'), act: onClear },
          ]}
          close={() => setMore(undefined)}
        />
      )}
      {menu !== undefined && (
        <RequestMenu
          tunnelKey={tunnelKey}
          url={tunnel?.url}
          menu={menu}
          run={rowAction.run}
          acts={acts}
          search={(text) => show({ part, search: text })}
          close={() => setMenu(undefined)}
        />
      )}
    </Screen>
  );
}

/** The state and the address of the tunnel. */
function Title({ tunnel, run }: { tunnel: LoggedTunnel; run: Action['run'] }): JSX.Element {
  const shape = useTime((now) => tunnel.shapeAt(now));
  return (
    <span class={`log-title card-${shape}`}>
      <StateShape shape={shape} />
      <Address tunnel={tunnel} canOpen={tunnel.isLive} run={run} />
    </span>
  );
}

/**
 * Announces the number of results once typing pauses, not for every new request. Separate from the log, because a
 * pending search would keep the previous requests in memory.
 */
function useFoundWords(search: string, count: number, kind: string): void {
  const { say } = useShell();
  const found = useRef(count);
  found.current = count;
  useEffect(() => {
    if (search === '') return undefined;
    const timer = window.setTimeout(() => say(t('log.found', { count: found.current, kind })), 1000);
    return () => window.clearTimeout(timer);
  }, [search, say, kind]);
}

function NoRequests({ tunnel, search }: { tunnel: LoggedTunnel | undefined; search: string }): JSX.Element {
  const kind = countedBy(tunnel);
  return (
    <p class="dim nothing">
      {search === '' ? t('log.noneYet', { kind }) : t('log.noMatch', { search, kind })}
    </p>
  );
}

/** Whether the focus is within the log. */
function isInLog(): boolean {
  const pane = document.getElementById('search-requests')?.closest('.screen');
  return pane?.contains(document.activeElement) === true;
}

/** The parts of a log with counts, one of which is shown. */
function PartRow({
  requests,
  chosen,
  choose,
}: {
  requests: readonly RequestSummary[];
  chosen: string;
  choose: (part: string) => void;
}): JSX.Element {
  const parts = useMemo(() => chips(requests, chosen), [requests, chosen]);
  const methods = useMemo(() => methodParts(requests), [requests]);
  const method = methods.find(({ id }) => id === chosen);
  const [menu, setMenu] = useState<Spot>();
  return (
    <span class="line s1">
      <Toggles
        label={t('log.show')}
        class="parts"
        look="filter-chip"
        choices={parts.map(({ id, label, count }) => [
          id,
          <>
            <bdi>{label}</bdi> <span class="dim">{countText(count)}</span>
          </>,
        ])}
        value={chosen}
        choose={(id) => choose(id === chosen ? ALL : id)}
      />
      {methods.length > 0 && (
        <Button
          id="method"
          look="button small"
          aria-haspopup="menu"
          aria-pressed={method !== undefined}
          act={({ currentTarget }) => setMenu(spotBelow(currentTarget))}
        >
          <bdi>{method?.label ?? t('log.method')}</bdi> <span aria-hidden="true">▾</span>
        </Button>
      )}
      {menu !== undefined && (
        <Menu
          label={t('log.method')}
          spot={menu}
          items={[
            method !== undefined && { label: t('log.anyMethod'), act: () => choose(ALL) },
            ...methods.map(({ id, label, count }) => ({
              label: `${label} ${countText(count)}`,
              act: () => choose(id),
            })),
          ]}
          close={() => setMenu(undefined)}
        />
      )}
    </span>
  );
}

/** How long typing pauses before main searches headers and bodies. */
const PAUSE_MS = 250;
/** How often a search is continued while the log changes. */
const CONTINUE_MS = 1000;

/** Requests that contain the words of a search anywhere, as far as it is known. */
interface ContentFound {
  readonly ids: ReadonlySet<number>;
  /** whether some compressed bodies were left out */
  readonly isPartial: boolean;
}

const NOTHING: ContentFound = { ids: new Set(), isPartial: false };

/**
 * Has main search headers and bodies, after a pause in typing and again when the log has changed. The result of other
 * words is dropped.
 *
 * @param change anything that is another object once the log has changed
 */
function useContentSearch(key: string, search: string, change: unknown): ContentFound {
  const { bridge } = useShell();
  const [found, setFound] = useState({ key, search, result: NOTHING });
  // Counted, because a search that kept an earlier log to compare it would keep its requests in memory.
  const changes = useRef({ latest: change, count: 0 });
  if (changes.current.latest !== change)
    changes.current = { latest: change, count: changes.current.count + 1 };
  useEffect(() => {
    if (search.trim() === '') return undefined;
    let isOver = false;
    let timer = 0;
    let searched = -1;
    const look = async (): Promise<void> => {
      if (searched !== changes.current.count) {
        searched = changes.current.count;
        const answer = await bridge.call('log:search', { key, words: search });
        if (isOver) return;
        if (answer.ok) {
          const { ids, isPartial } = answer.value;
          setFound({ key, search, result: { ids: new Set(ids), isPartial } });
        }
      }
    };
    const later = (ms: number): void => {
      timer = window.setTimeout(() => {
        // Without an answer, paths, methods and states are found all the same.
        void look()
          .catch(() => {})
          .finally(() => {
            if (!isOver) later(CONTINUE_MS);
          });
      }, ms);
    };
    later(PAUSE_MS);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, search]);
  return found.key === key && found.search === search && search.trim() !== '' ? found.result : NOTHING;
}
