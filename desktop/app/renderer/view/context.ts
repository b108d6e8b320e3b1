/** What every part of the window may reach: main, the voice for screen readers, and the way to other screens. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Settings, UndoView } from '../../ipc/snapshot.ts';
import type { Bridge } from '../bridge.ts';
import type { Route } from '../model/route.ts';

export interface Shell {
  readonly bridge: Bridge;
  /** speaks to people who listen rather than look; a polite live region */
  readonly say: (text: string) => void;
  readonly go: (route: Route) => void;
  /** asks what to import into the log of a tunnel */
  readonly importTo: (key: string) => void;
  /** to the previous screen */
  readonly back: () => void;
}

/** what the user can still take back */
export const UndoContext = createContext<readonly UndoView[]>([]);

/** whether long lines of bodies are wrapped */
export const WrapContext = createContext<Settings['wrapsBodies']>(true);

/** How a screen stands beside others. */
export interface Pane {
  /** whether it is what the window is mainly about */
  readonly isMain: boolean;
  /** whether its heading gets the focus when it opens */
  readonly takesFocus: boolean;
}

export const PaneContext = createContext<Pane>({ isMain: true, takesFocus: true });

export const ShellContext = createContext<Shell | undefined>(undefined);

/** @throws Error outside of the app */
export function useShell(): Shell {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('no shell around this part');
  return shell;
}
