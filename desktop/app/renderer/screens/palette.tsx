import type { JSX, TargetedKeyboardEvent } from 'preact';
import { type Dispatch, type StateUpdater, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Snapshot, TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { WINDOW_KEYS } from '../../messages/window-keys.ts';
import type { FormDraft } from '../model/create-form.ts';
import {
  canDo,
  cardFocus,
  type CardPart,
  foundEntries,
  type PaletteAct,
  paletteEntries,
  type PaletteEntry,
  type PaletteGroup,
} from '../model/palette.ts';
import { forward, type Route, type Trail } from '../model/route.ts';
import { byActivity } from '../model/tunnel-state.ts';
import { type Action, useAction, useShell } from '../view/context.ts';
import { Shortcut } from '../view/controls.tsx';
import { hasCommand, useKey, useModal } from '../view/keyboard.ts';
import { Dialog, Failure } from '../view/kit.tsx';
import { foldId } from './tunnels/tunnel-card.tsx';

/** Longer input is not a search. */
const MOST_TYPED = 200;
const LIST = 'palette-list';

/**
 * Everything the window can do, found by typing: a combobox in a dialog (ARIA Authoring Practices). Its content is a
 * copy from when it was opened, so that nothing moves under the choice.
 */
export function Palette({
  snapshot,
  close,
  places,
}: {
  snapshot: Snapshot;
  close: () => void;
  places: PlaceActs;
}): JSX.Element {
  const dialog = useModal();
  const { bridge, isOfCommand } = useShell();
  const [{ tunnels, entries }] = useState(() => ({
    tunnels: snapshot.tunnels,
    entries: paletteEntries(
      { ...snapshot, tunnels: byActivity(snapshot.tunnels, Date.now()) },
      Date.now(),
    ).filter(({ act }) => canDo(act, { isBrowser: bridge.browser !== undefined, isOfCommand })),
  }));
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const { run, said, error } = useActs(places, () => {
    dialog.current?.close();
    close();
  });
  const found = foundEntries(entries, tunnels, typed);
  const activeId = found[active]?.id;
  useLayoutEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);

  const choose = (entry: PaletteEntry): void => void run(entry.act);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    const chosen = found[active];
    if (event.key === 'Escape') close();
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (found.length > 0) setActive((active + step + found.length) % found.length);
    } else if (event.key === 'Enter' && chosen !== undefined) choose(chosen);
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
      <PaletteList id={LIST} found={found} active={activeId} choose={choose} />
      <p class="palette-note" role="status">
        {said ?? (found.length === 0 ? t('palette.nothing', { typed }) : '')}
      </p>
      <Failure problem={error} />
    </dialog>
  );
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
                {entry.label}
              </span>
              {entry.detail !== '' && <bdi class="cut dim">{entry.detail}</bdi>}
              {entry.shortcut !== undefined && <Shortcut keys={entry.shortcut} />}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

/** Navigation to other places of the window. */
interface PlaceActs {
  readonly show: (focus: string) => void;
  readonly search: (key: string, search: string) => void;
  readonly newTunnel: (port: number | undefined) => void;
  /** unfolds a part of a card */
  readonly unfold: (key: string, part: CardPart) => void;
  readonly showKeys: () => void;
}

/**
 * Performs the chosen action, and closes the palette unless it has to show a result.
 *
 * @returns the result in words, or the error
 */
function useActs(
  places: PlaceActs,
  close: () => void,
): {
  run: (act: PaletteAct) => Promise<void>;
  said: string | undefined;
  error: CallError | undefined;
} {
  const { go, importTo, say } = useShell();
  const action = useAction();
  const [said, setSaid] = useState<string>();
  const run = async (act: PaletteAct): Promise<void> => {
    if (action.isBusy) return;
    setSaid(undefined);
    // A place remembers the focus, which closing the palette restores.
    if (isMove(act)) {
      close();
      if (act.kind === 'import') importTo(act.key);
      // The next snapshot shows the result.
      else if (act.kind === 'choose') void action.run(act.channel, undefined);
      else if (act.kind === 'reopen') void action.run('project:reopen', { folder: act.folder });
      else if (act.kind === 'diagnose') void action.run('checkup:start', { key: act.key });
      else move(act, places, go);
      return;
    }
    if (act.kind === 'replay') {
      const { key, id } = act;
      const answer = await action.run('log:replay', { key, id });
      if (!answer.ok) return;
      close();
      say(t('request.sentAgain'));
      go({ screen: 'request', key, id: answer.value.id });
    } else if (act.kind === 'curl') {
      const answer = await action.run('log:copy-curl', { key: act.key, id: act.id, reveal: false });
      if (answer.ok) setSaid(t(answer.value.hidesSecrets ? 'request.copiedCurlClean' : 'request.copiedCurl'));
    } else if (await ask(act, action.run)) {
      if (act.kind === 'tunnel' && act.said !== undefined) setSaid(act.said);
      else close();
    }
  };
  return { run, said, error: action.error };
}

type Ask = Extract<PaletteAct, { kind: 'tunnel' | 'setting' | 'call' }>;
/** Actions on a request, with a result to show. */
type OnRequest = Extract<PaletteAct, { kind: 'replay' | 'curl' }>;
/** Actions that replace the palette by a dialog. */
type Dialog = Extract<PaletteAct, { kind: 'import' | 'choose' | 'reopen' | 'diagnose' }>;
type Move = Exclude<PaletteAct, Ask | OnRequest | Dialog>;

const MOVES: ReadonlySet<PaletteAct['kind']> = new Set([
  'go',
  'show',
  'search',
  'port',
  'press',
  'keys',
  'import',
  'choose',
  'reopen',
  'diagnose',
] satisfies (Move | Dialog)['kind'][]);

function isMove(act: PaletteAct): act is Move | Dialog {
  return MOVES.has(act.kind);
}

function move(act: Move, places: PlaceActs, go: (route: Route) => void): void {
  switch (act.kind) {
    case 'go':
      return go(act.route);
    case 'show':
      return places.show(act.focus);
    case 'search':
      return places.search(act.key, act.search);
    case 'port':
      return places.newTunnel(act.port);
    case 'press':
      return places.unfold(act.key, act.part);
    case 'keys':
      return places.showKeys();
  }
}

/** @returns whether it succeeded */
async function ask(act: Ask, run: Action['run']): Promise<boolean> {
  switch (act.kind) {
    case 'tunnel':
      return (await run(act.channel, { key: act.key })).ok;
    case 'setting':
      return (await run('settings:change', act.changes)).ok;
    case 'call':
      return (await run(act.channel, undefined)).ok;
  }
}

/** Whether the palette is open, with its shortcuts and those of its entries. */
export function usePalette({
  trail,
  setTrail,
  goHome,
  searchLog,
  setDraft,
  showKeys,
  tunnels,
  isOn,
}: {
  trail: Trail;
  setTrail: Dispatch<StateUpdater<Trail>>;
  /** opens the list, and focuses the element with that id */
  goHome: (focus: string) => void;
  /** searches the log of a tunnel for some words */
  searchLog: (key: string, search: string) => void;
  setDraft: Dispatch<StateUpdater<FormDraft>>;
  /** shows the sheet of keys */
  showKeys: () => void;
  tunnels: readonly TunnelView[];
  /** whether the user is signed in */
  isOn: boolean;
}): { isOpen: boolean; close: () => void; places: PlaceActs } {
  // Navigation also closes it, in the same redraw: an element behind an open dialog cannot get the focus.
  const [openAt, setOpenAt] = useState<Trail>();
  useKey(
    (event) => isOn && hasCommand(event) && event.key === 'k',
    () => setOpenAt((before) => (before === trail ? undefined : trail)),
  );
  useKey(
    (event) => isOn && hasCommand(event) && numbered(event, tunnels) !== undefined,
    (event) => {
      const tunnel = numbered(event, tunnels);
      if (tunnel !== undefined) goHome(cardFocus(tunnel));
    },
  );
  useLayoutEffect(() => setOpenAt(undefined), [isOn]);
  const places = useMemo(
    () => ({
      show: goHome,
      search: (key: string, search: string) => {
        const focus = document.activeElement?.id;
        searchLog(key, search);
        setTrail((before) => forward(before, { screen: 'log', key }, focus));
      },
      newTunnel: (port: number | undefined) => {
        goHome('port');
        if (port !== undefined) setDraft((before) => ({ ...before, port: String(port) }));
      },
      unfold: (key: string, part: CardPart) => {
        const button = `${part}-${key}`;
        goHome(button);
        // A search that hid the card ends only with the next redraw, and an idle card shows its buttons one later.
        requestAnimationFrame(() => {
          expand(foldId(key));
          requestAnimationFrame(() => expand(button));
        });
      },
      showKeys,
    }),
    [setTrail, setDraft, goHome, searchLog, showKeys],
  );
  return { isOpen: isOn && openAt === trail, close: () => setOpenAt(undefined), places };
}

/** Presses a button that unfolds something, unless it is unfolded already. */
function expand(id: string): void {
  const button = document.getElementById(id);
  if (button?.getAttribute('aria-expanded') === 'false') button.click();
}

/** The tunnel with that digit as shortcut. */
function numbered({ key }: KeyboardEvent, tunnels: readonly TunnelView[]): TunnelView | undefined {
  return /^[1-9]$/.test(key) ? byActivity(tunnels, Date.now())[Number(key) - 1] : undefined;
}

/** All keys of the window, over the window. */
export function KeysDialog({ close }: { close: () => void }): JSX.Element {
  return (
    <Dialog title={t('keys.title')} close={close} isResult>
      <dl class="keys stack">
        {WINDOW_KEYS.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <Shortcut keys={keys} />
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
