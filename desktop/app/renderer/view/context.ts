/** Shared by every part of the window: main and what it is asked, announcements for screen readers, and navigation. */
import { type ComponentChildren, createContext } from 'preact';
import {
  type Dispatch,
  type StateUpdater,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
} from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { SessionView, Snapshot, UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge, Channels } from '../bridge.ts';
import type { Acts, Call, CardPart, Outcome } from '../model/actions.ts';
import type { FormDraft } from '../model/create-form.ts';
import type { Route, Trail } from '../model/route.ts';
import type { LogViews } from './use-snapshot.ts';

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

/** What the signed-in window shows. */
interface WindowState {
  readonly snapshot: Snapshot;
  readonly session: Extract<SessionView, { state: 'signed-in' }>;
  readonly trail: Trail;
  readonly setTrail: Dispatch<StateUpdater<Trail>>;
  /** the text in the search of the tunnels */
  readonly search: string;
  readonly setSearch: (search: string) => void;
  readonly logViews: LogViews;
  readonly draft: FormDraft;
  readonly setDraft: (draft: FormDraft) => void;
}

export const WindowContext = createContext<WindowState | undefined>(undefined);

/** @throws Error outside of the signed-in window */
export function useWindow(): WindowState {
  const state = useContext(WindowContext);
  if (state === undefined) throw new Error('not in the signed-in window');
  return state;
}

/** actions that the user can still undo */
export const UndoContext = createContext<readonly UndoView[]>([]);

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

/** What is being typed below a tunnel, by its key. */
export const DraftsContext = createContext(new Map<string, unknown>());

/**
 * Input in the unfolded part of a tunnel, which stays while the window shows that elsewhere, or not at all, until the
 * part is folded.
 *
 * @param key of the tunnel
 */
export function useDraft<T>(key: string, initial: () => T): readonly [T, (value: T) => void] {
  const drafts = useContext(DraftsContext);
  const [value, setValue] = useState(() => (drafts.has(key) ? (drafts.get(key) as T) : initial()));
  return [
    value,
    (next) => {
      drafts.set(key, next);
      setValue(() => next);
    },
  ];
}

/** Key of the tunnel whose address was copied a moment ago. */
export const CopiedContext = createContext<string | undefined>(undefined);

/** Whether the relay can be reached, as far as main knows. */
export const ReachContext = createContext(true);

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

/** Asks main. @param said announced if it succeeds */
export type Run = <C extends keyof Channels>(
  channel: C,
  payload: Channels[C]['payload'],
  said?: string | ((value: Channels[C]['result']) => string),
) => Promise<Outcome<C>>;

export interface Action {
  readonly isBusy: boolean;
  readonly error: CallError | undefined;
  readonly run: Run;
  readonly clear: () => void;
}

/** Sends the user's requests to main, and keeps the last error. */
export function useAction(): Action {
  const { call, say } = useShell();
  const [state, setState] = useState<Pick<Action, 'isBusy' | 'error'>>(IDLE);
  const isMounted = useRef(true);
  const isReached = useContext(ReachContext);
  // What could not be done may be tried again, but the reason is no longer true.
  useEffect(() => {
    if (isReached) setState((before) => (before.error?.code === 'unreachable' ? IDLE : before));
  }, [isReached]);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  const run = useCallback<Run>(
    async (channel, payload, said) => {
      setState({ isBusy: true, error: undefined });
      const answer = await call(channel, payload);
      if (isMounted.current) setState({ isBusy: false, error: answer.ok ? undefined : answer.error });
      if (answer.ok && said !== undefined) say(typeof said === 'string' ? said : said(answer.value));
      return answer;
    },
    [call, say],
  );
  const clear = useCallback(() => setState((before) => (before.error === undefined ? before : IDLE)), []);
  return { ...state, run, clear };
}

const IDLE = { isBusy: false, error: undefined };
