import { useState } from 'preact/hooks';
import type { CallError } from '../../../shared/ipc.ts';
import type { PaletteAct } from '../../model/palette-entry.ts';
import type { Route } from '../../model/route.ts';
import { useShell } from '../../view/context.ts';
import { type Action, useAction } from '../../view/use-action.ts';

/** Ways to other places of the window. */
export interface PlaceActs {
  readonly show: (focus: string) => void;
  readonly search: (key: string, search: string) => void;
  readonly newTunnel: (port: number | undefined) => void;
}

/**
 * Does what was chosen in the palette, which is then closed, unless there is something to read in it.
 *
 * @returns what was done, in words, or what went wrong
 */
export function useActs(
  places: PlaceActs,
  close: () => void,
): {
  run: (act: PaletteAct) => Promise<void>;
  said: string | undefined;
  error: CallError | undefined;
} {
  const { go, importTo } = useShell();
  const action = useAction();
  const [said, setSaid] = useState<string>();
  const run = async (act: PaletteAct): Promise<void> => {
    if (action.isBusy) return;
    setSaid(undefined);
    // A place remembers where the focus was, which closing gives back.
    if (isMove(act)) {
      close();
      if (act.kind === 'import') importTo(act.key);
      // What comes of it is in the next snapshot.
      else if (act.kind === 'choose') void action.run(act.channel, undefined);
      else if (act.kind === 'reopen') void action.run('project:reopen', { folder: act.folder });
      else move(act, places, go);
    } else if (await ask(act, action.run)) {
      if (act.kind === 'tunnel' && act.said !== undefined) setSaid(act.said);
      else close();
    }
  };
  return { run, said, error: action.error };
}

type Ask = Extract<PaletteAct, { kind: 'tunnel' | 'theme' | 'call' }>;
/** What opens a dialog in its place. */
type Dialog = Extract<PaletteAct, { kind: 'import' | 'choose' | 'reopen' }>;
type Move = Exclude<PaletteAct, Ask | Dialog>;

function isMove(act: PaletteAct): act is Move | Dialog {
  return ['go', 'show', 'search', 'port', 'import', 'choose', 'reopen'].includes(act.kind);
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
  }
}

/** @returns whether it went well */
async function ask(act: Ask, run: Action['run']): Promise<boolean> {
  switch (act.kind) {
    case 'tunnel':
      return (await run(act.channel, { key: act.key })).ok;
    case 'theme':
      return (await run('settings:change', { theme: act.theme })).ok;
    case 'call':
      return (await run(act.channel, undefined)).ok;
  }
}
