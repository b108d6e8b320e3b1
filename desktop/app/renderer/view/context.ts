/** Shared by every part of the window: main and what it is asked, announcements for screen readers, and navigation. */
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Settings, UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge } from '../bridge.ts';
import type { Acts, Call, CardPart } from '../model/actions.ts';
import type { Route } from '../model/route.ts';

export interface Shell extends Acts {
  readonly bridge: Bridge;
  /** whether the window belongs to a command, which creates and closes its tunnels itself */
  readonly isOfCommand: boolean;
  /**
   * shows another screen instead of the current one, unless the user has left it
   *
   * @param focus id of the element on the new screen that gets the focus
   */
  readonly replace: (from: Route, to: Route, focus: string) => void;
  /** to the previous screen */
  readonly back: () => void;
}

/** actions that the user can still undo */
export const UndoContext = createContext<readonly UndoView[]>([]);

/** whether long lines of bodies are wrapped */
export const WrapContext = createContext<Settings['wrapsBodies']>(true);

/** How a screen is placed beside others. */
interface Pane {
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

/** The unfolded part of each card, by key of its tunnel. */
export const UnfoldedContext = createContext<Readonly<Record<string, CardPart | undefined>>>({});

/** Asks main; what goes wrong on the way is an error like any other. */
export function callOf(bridge: Bridge): Call {
  return async (channel, payload) => {
    try {
      return await bridge.call(channel, payload);
    } catch {
      return { ok: false, error: { code: 'no-answer', text: t('common.noAnswer') } };
    }
  };
}

export interface Action {
  readonly isBusy: boolean;
  readonly error: CallError | undefined;
  readonly run: Call;
  readonly clear: () => void;
}

/** Sends the user's requests to main, and keeps the last error. */
export function useAction(): Action {
  const { call } = useShell();
  const [state, setState] = useState<Pick<Action, 'isBusy' | 'error'>>(IDLE);
  const isMounted = useRef(true);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  const run = useCallback<Call>(
    async (channel, payload) => {
      setState({ isBusy: true, error: undefined });
      const answer = await call(channel, payload);
      if (isMounted.current) setState({ isBusy: false, error: answer.ok ? undefined : answer.error });
      return answer;
    },
    [call],
  );
  const clear = useCallback(() => setState((before) => (before.error === undefined ? before : IDLE)), []);
  return { ...state, run, clear };
}

const IDLE = { isBusy: false, error: undefined };
