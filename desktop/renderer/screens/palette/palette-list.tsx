import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { PaletteEntry, PaletteGroup } from '../../model/palette-entry.ts';
import { Shortcut } from '../../view/shortcut.tsx';

/** Groups of what others have named. */
const IS_CODE: ReadonlySet<PaletteGroup> = new Set(['tunnels', 'requests']);

/** What was found, by group. @param active id of the entry that Enter chooses */
export function PaletteList({
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
          <div class="palette-group" aria-hidden="true">
            {t(`palette.group.${group}`)}
          </div>
          {entries.map((entry) => (
            <div
              key={entry.id}
              id={entry.id}
              class="palette-entry"
              role="option"
              aria-selected={entry.id === active}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(entry)}
            >
              <span class="palette-label" dir={IS_CODE.has(group) ? 'ltr' : undefined}>
                {entry.label}
              </span>
              {entry.detail !== '' && <bdi class="palette-detail dim">{entry.detail}</bdi>}
              {entry.shortcut !== undefined && <Shortcut keys={entry.shortcut} />}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
