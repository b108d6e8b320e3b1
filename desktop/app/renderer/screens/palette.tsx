import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Snapshot, TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { WINDOW_KEYS } from '../../messages/window-keys.ts';
import { canDo, type WindowAction, windowActions } from '../model/actions.ts';
import {
  cardFocus,
  foundEntries,
  paletteEntries,
  type PaletteEntry,
  type PaletteGroup,
  type PaletteLogs,
} from '../model/palette.ts';
import type { KnownLog } from '../model/request.ts';
import type { Trail } from '../model/route.ts';
import { byActivity } from '../model/tunnel-state.ts';
import { type Shell, useShell } from '../view/context.ts';
import { Shortcut } from '../view/controls.tsx';
import { arePressed, hasCommand, useKey, useModal } from '../view/keyboard.ts';
import { Failure } from '../view/kit.tsx';
import { LogReader } from './log/use-log.ts';

/** Longer input is not a search. */
const MOST_TYPED = 200;
const LIST = 'palette-list';

/**
 * Everything the window can do, found by typing: a combobox in a dialog (ARIA Authoring Practices). Its content is a
 * copy from when it was opened, so that nothing moves under the choice.
 */
export function Palette({ snapshot, close }: { snapshot: Snapshot; close: () => void }): JSX.Element {
  const dialog = useModal();
  const shell = useShell();
  const [copy] = useState(() => ({ ...snapshot, tunnels: byActivity(snapshot.tunnels, Date.now()) }));
  const { tunnels } = copy;
  const [typed, setTyped] = useState('');
  const logs = useLogs(tunnels, typed !== '');
  const entries = useMemo(() => paletteEntries(copy, Date.now(), logs), [copy, logs]);
  const [active, setActive] = useState(0);
  const [{ isBusy, said, error }, setResult] = useState<Result>({ isBusy: false });
  const found = foundEntries(entries, tunnels, typed).filter(hasAction(shell));
  const activeId = found[active]?.id;
  useLayoutEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);

  const choose = async ({ run, isDialog }: PaletteEntry): Promise<void> => {
    if (isBusy) return;
    const done = run(shell);
    if (done === undefined || isDialog === true) return close();
    setResult({ isBusy: true });
    const result = await done;
    if (!result.ok) setResult({ isBusy: false, error: result.error });
    else if (result.said === undefined) close();
    else setResult({ isBusy: false, said: result.said });
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    const chosen = found[active];
    if (event.key === 'Escape') close();
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (found.length > 0) setActive((active + step + found.length) % found.length);
    } else if (event.key === 'Enter' && chosen !== undefined) void choose(chosen);
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t('palette.group.commands')}
      onKeyDown={onKeyDown}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <input
        role="combobox"
        aria-label={t('palette.find')}
        placeholder={t('palette.findShort')}
        autocomplete="off"
        spellcheck={false}
        maxLength={MOST_TYPED}
        aria-expanded={found.length > 0}
        aria-controls={LIST}
        aria-autocomplete="list"
        aria-activedescendant={activeId}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
      />
      <PaletteList id={LIST} found={found} active={activeId} choose={(entry) => void choose(entry)} />
      <p class="palette-note" role="status">
        {said ?? (found.length === 0 ? t('palette.nothing', { typed }) : '')}
      </p>
      <Failure problem={error} />
    </dialog>
  );
}

/** Tunnels whose logs are read, the most active first: what a person has in mind. */
const LOGS_MAX = 9;

/** The whole logs of tunnels, once somebody searches. */
function useLogs(tunnels: readonly TunnelView[], isOn: boolean): PaletteLogs {
  const { bridge } = useShell();
  const [logs, setLogs] = useState<PaletteLogs>(new Map());
  useEffect(() => {
    if (!isOn) return undefined;
    const readers = tunnels.slice(0, LOGS_MAX).map(({ key }) => {
      const onRead = ({ requests }: KnownLog): void =>
        setLogs((before) => new Map(before).set(key, requests));
      // Without its log, a tunnel has the last few requests that are known.
      return new LogReader({ bridge, key, onRead, onProblem: () => undefined });
    });
    for (const reader of readers) reader.read();
    return () => readers.forEach((reader) => reader.stop());
  }, [bridge, tunnels, isOn]);
  return logs;
}

interface Result {
  readonly isBusy: boolean;
  readonly said?: string;
  readonly error?: CallError;
}

/** Whether the window has an action. */
function hasAction({ bridge, isOfCommand }: Shell): (action: Pick<WindowAction, 'only'>) => boolean {
  return (action) => canDo(action, { isBrowser: bridge.browser !== undefined, isOfCommand });
}

/** The keys of an entry, if they reach this window. */
function keysHere({ keys }: PaletteEntry, shell: Shell): string | undefined {
  const row = WINDOW_KEYS.find((each) => each.keys === keys);
  return row === undefined || hasAction(shell)(row) ? keys : undefined;
}

/** Groups whose entries have user-defined names. */
const IS_CODE: ReadonlySet<PaletteGroup> = new Set(['tunnels', 'requests']);

/** The results by group. @param active id of the entry that Enter chooses */
function PaletteList({
  id,
  found,
  active,
  choose,
}: {
  id: string;
  found: readonly PaletteEntry[];
  active: string | undefined;
  choose: (entry: PaletteEntry) => void;
}): JSX.Element {
  const shell = useShell();
  const groups = [...Map.groupBy(found, ({ group }) => group)];
  return (
    <div
      id={id}
      class="palette-list"
      role="listbox"
      aria-label={t('palette.found')}
      hidden={found.length === 0}
    >
      {groups.map(([group, entries]) => (
        <div key={group} role="group" aria-label={t(`palette.group.${group}`)}>
          <div class="palette-group hint strong" aria-hidden="true">
            {t(`palette.group.${group}`)}
          </div>
          {entries.map((entry) => (
            <div
              key={entry.id}
              id={entry.id}
              class="palette-entry line"
              role="option"
              aria-selected={entry.id === active}
              // Keeps the focus in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(entry)}
            >
              <span class="cut" dir={IS_CODE.has(group) ? 'ltr' : undefined}>
                {entry.title}
              </span>
              {entry.detail !== '' && <bdi class="cut dim">{entry.detail}</bdi>}
              {keysHere(entry, shell) !== undefined && <Shortcut keys={entry.keys ?? ''} />}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

/** The keys of actions that need no tunnel. @param isOn whether the user is signed in */
export function useActionKeys(shell: Shell, isOn: boolean): void {
  const actions = useMemo(() => windowActions().filter(hasAction(shell)), [shell]);
  const pressed = (event: KeyboardEvent): WindowAction | undefined =>
    isOn ? actions.find(({ keys }) => keys !== undefined && arePressed(event, keys)) : undefined;
  useKey(
    (event) => pressed(event) !== undefined,
    (event) => void pressed(event)?.run(shell),
  );
}

/** Whether the palette is open, with its shortcut and those of tunnels. @param isOn whether the user is signed in */
export function usePalette(
  { show }: Shell,
  trail: Trail,
  tunnels: readonly TunnelView[],
  isOn: boolean,
): { isOpen: boolean; close: () => void } {
  // Navigation also closes it, in the same redraw: an element behind an open dialog cannot get the focus.
  const [openAt, setOpenAt] = useState<Trail>();
  useKey(
    (event) => isOn && arePressed(event, 'Mod+K'),
    () => setOpenAt((before) => (before === trail ? undefined : trail)),
  );
  useKey(
    (event) => isOn && hasCommand(event) && numbered(event, tunnels) !== undefined,
    (event) => {
      const tunnel = numbered(event, tunnels);
      if (tunnel !== undefined) show(cardFocus(tunnel), tunnel.key);
    },
  );
  useLayoutEffect(() => setOpenAt(undefined), [isOn]);
  return { isOpen: isOn && openAt === trail, close: () => setOpenAt(undefined) };
}

/** The tunnel with that digit as shortcut. */
function numbered({ key }: KeyboardEvent, tunnels: readonly TunnelView[]): TunnelView | undefined {
  return /^[1-9]$/.test(key) ? byActivity(tunnels, Date.now())[Number(key) - 1] : undefined;
}
