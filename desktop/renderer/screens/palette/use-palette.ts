import type { Dispatch, StateUpdater } from 'preact/hooks';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { TunnelView } from '../../../shared/snapshot.ts';
import type { FormDraft } from '../../model/create-form.ts';
import { cardFocus } from '../../model/palette.ts';
import { forward, type Trail } from '../../model/route.ts';
import { hasCommand, useKey } from '../../view/keys.ts';
import type { PlaceActs } from './use-acts.ts';

/** Whether the palette is open, with the keys that open it, or lead where it leads. */
export function usePalette({
  trail,
  setTrail,
  goHome,
  searchLog,
  setDraft,
  tunnels,
  isOn,
}: {
  trail: Trail;
  setTrail: Dispatch<StateUpdater<Trail>>;
  /** to the list, and there to the element with an id */
  goHome: (focus: string) => void;
  /** shows what has some words of the log of a tunnel */
  searchLog: (key: string, search: string) => void;
  setDraft: Dispatch<StateUpdater<FormDraft>>;
  tunnels: readonly TunnelView[];
  /** whether somebody is signed in */
  isOn: boolean;
}): { isOpen: boolean; close: () => void; places: PlaceActs } {
  // Whatever leads elsewhere also closes it, in the same redraw: what is to have the focus there could not have it behind a dialog.
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
    }),
    [setTrail, setDraft, goHome, searchLog],
  );
  return { isOpen: isOn && openAt === trail, close: () => setOpenAt(undefined), places };
}

/** The tunnel that a digit leads to. */
function numbered({ key }: KeyboardEvent, tunnels: readonly TunnelView[]): TunnelView | undefined {
  return /^[1-9]$/.test(key) ? tunnels[Number(key) - 1] : undefined;
}
