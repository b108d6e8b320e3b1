import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { Snapshot } from '../../../shared/snapshot.ts';
import { foundEntries, paletteEntries } from '../../model/palette.ts';
import type { PaletteEntry } from '../../model/palette-entry.ts';
import { Failure } from '../../view/parts.tsx';
import { useModal } from '../../view/use-modal.ts';
import { PaletteList } from './palette-list.tsx';
import { type PlaceActs, useActs } from './use-acts.ts';

/** More than this is not a search. */
const MOST_TYPED = 200;
const LIST = 'palette-list';

/**
 * Everything the window can do, found by typing: a combobox in a dialog (ARIA Authoring Practices). It shows what there was when
 * it was opened, so that nothing moves under the choice.
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
  const [{ tunnels, entries }] = useState(() => ({
    tunnels: snapshot.tunnels,
    entries: paletteEntries(snapshot, Date.now()),
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
