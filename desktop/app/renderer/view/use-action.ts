import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import type { Channels } from '../bridge.ts';
import { useShell } from './context.ts';

export interface Action {
  readonly isBusy: boolean;
  readonly error: CallError | undefined;
  /** @returns whether it succeeded, with the result */
  readonly run: <C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ) => Promise<Outcome<C>>;
  readonly clear: () => void;
}

export type Outcome<C extends keyof Channels> =
  | { readonly ok: true; readonly value: Channels[C]['result'] }
  | { readonly ok: false; readonly error: CallError };

/** Sends the user's requests to main, one at a time, and keeps the last error. */
export function useAction(): Action {
  const { bridge } = useShell();
  const [state, setState] = useState<{ isBusy: boolean; error: CallError | undefined }>({
    isBusy: false,
    error: undefined,
  });
  const isMounted = useRef(true);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  const run = useCallback(
    async <C extends keyof Channels>(channel: C, payload: Channels[C]['payload']): Promise<Outcome<C>> => {
      setState({ isBusy: true, error: undefined });
      const answer = await ask(() => bridge.call(channel, payload));
      if (isMounted.current) setState({ isBusy: false, error: answer.ok ? undefined : answer.error });
      return answer;
    },
    [bridge],
  );
  const clear = useCallback(() => setState({ isBusy: false, error: undefined }), []);
  return { ...state, run, clear };
}

async function ask<C extends keyof Channels>(call: () => Promise<Outcome<C>>): Promise<Outcome<C>> {
  try {
    return await call();
  } catch {
    const text = t('common.noAnswer');
    return { ok: false, error: { code: 'no-answer', text } };
  }
}
