import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Channels } from '../bridge.ts';
import { useShell } from './context.ts';

export interface Loaded<T> {
  /** `undefined` until main has answered */
  readonly value: T | undefined;
  /** why it could not be loaded the last time */
  readonly error: CallError | undefined;
  readonly reload: () => Promise<void>;
  /** replaces the value by one that is known here already */
  readonly set: (change: (before: T | undefined) => T | undefined) => void;
}

/**
 * Asks main for what a part of the window shows, and again when the question changes. Answers to earlier questions are
 * dropped.
 *
 * @param options.isOn whether to ask at all
 * @param options.again asks again when it changes
 * @param options.keep the value to show, given the previous one of the same question and the new one
 * @param options.laterMs how soon to ask again; never by default
 */
export function useLoaded<C extends keyof Channels>(
  channel: C,
  payload: Channels[C]['payload'],
  options: {
    readonly isOn?: boolean;
    readonly again?: unknown;
    readonly keep?: (before: Result<C> | undefined, next: Result<C>) => Result<C> | undefined;
    readonly laterMs?: (value: Result<C>) => number | undefined;
  } = {},
): Loaded<Result<C>> {
  const { call } = useShell();
  const [state, setState] = useState<Pick<Loaded<Result<C>>, 'value' | 'error'>>({
    value: undefined,
    error: undefined,
  });
  const { isOn = true, again } = options;
  const question = JSON.stringify(payload);
  const latest = useRef({ payload, options, question });
  latest.current = { payload, options, question };
  const answered = useRef(question);
  const turn = useRef(0);
  const timer = useRef<number>(undefined);
  const stop = useCallback(() => {
    turn.current += 1;
    window.clearTimeout(timer.current);
  }, []);
  const reload = useCallback(async () => {
    stop();
    const mine = turn.current;
    const answer = await call(channel, latest.current.payload);
    if (mine !== turn.current) return;
    if (!answer.ok) return setState(({ value }) => ({ value, error: answer.error }));
    const { keep = (_, next) => next, laterMs } = latest.current.options;
    const isSame = answered.current === latest.current.question;
    answered.current = latest.current.question;
    setState(({ value }) => ({ value: keep(isSame ? value : undefined, answer.value), error: undefined }));
    const ms = laterMs?.(answer.value);
    if (ms !== undefined) timer.current = window.setTimeout(() => void reload(), ms);
  }, [call, channel, stop]);
  useEffect(() => {
    if (isOn) void reload();
    return stop;
  }, [reload, stop, isOn, again, question]);
  const set = useCallback<Loaded<Result<C>>['set']>(
    (change) => setState(({ value, error }) => ({ value: change(value), error })),
    [],
  );
  return { ...state, reload, set };
}

type Result<C extends keyof Channels> = Channels[C]['result'];
