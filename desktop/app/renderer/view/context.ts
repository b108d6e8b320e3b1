/** Shared by every part of the window: main, announcements for screen readers, and navigation. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Settings, UndoView } from '../../ipc/snapshot.ts';
import type { Bridge } from '../bridge.ts';
import type { Route } from '../model/route.ts';

export interface Shell {
  readonly bridge: Bridge;
  /** whether the window belongs to a command, which creates and closes its tunnels itself */
  readonly isOfCommand: boolean;
  /** announces a text to screen readers, in a polite live region */
  readonly say: (text: string) => void;
  readonly go: (route: Route) => void;
  /**
   * shows another screen instead of the current one, unless the user has left it
   *
   * @param focus id of the element on the new screen that gets the focus
   */
  readonly replace: (from: Route, to: Route, focus: string) => void;
  /** asks what to import into the log of a tunnel */
  readonly importTo: (key: string) => void;
  /** to the previous screen */
  readonly back: () => void;
}

/** actions that the user can still undo */
export const UndoContext = createContext<readonly UndoView[]>([]);

/** whether long lines of bodies are wrapped */
export const WrapContext = createContext<Settings['wrapsBodies']>(true);

/** How a screen is placed beside others. */
export interface Pane {
  /** whether it is the main screen of the window */
  readonly isMain: boolean;
  /** whether its heading gets the focus when it opens */
  readonly takesFocus: boolean;
  /** whether there is a previous screen to return to */
  readonly hasBack: boolean;
  /** at its end, to resize it; inside of it, because everything belongs to a landmark */
  readonly divider?: ComponentChildren;
}

export const PaneContext = createContext<Pane>({ isMain: true, takesFocus: true, hasBack: true });

export const ShellContext = createContext<Shell | undefined>(undefined);

/** @throws Error outside of the app */
export function useShell(): Shell {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('no shell around this part');
  return shell;
}
