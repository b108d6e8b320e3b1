import { useState } from 'preact/hooks';
import type { CallError } from '../../../shared/ipc.ts';
import { writtenText } from '../../model/written-har.ts';
import { useShell } from '../../view/context.ts';
import { useAction } from '../../view/use-action.ts';

export interface Export {
  /** Writes requests as a HAR, one file at a time. @param reveal with their secrets */
  readonly run: (ids: readonly number[], reveal: boolean) => Promise<void>;
  readonly isBusy: boolean;
  readonly error: CallError | undefined;
  /** what was written, and where; empty before */
  readonly words: string;
}

/** Exports requests of a tunnel to a file that the user names. */
export function useExport(tunnelKey: string): Export {
  const { say } = useShell();
  const action = useAction();
  const [words, setWords] = useState('');
  const run = async (ids: readonly number[], reveal: boolean): Promise<void> => {
    if (action.isBusy) return;
    setWords('');
    const answer = await action.run('log:export', { key: tunnelKey, ids: [...ids], reveal });
    if (!answer.ok || answer.value === undefined) return;
    const text = writtenText(answer.value);
    setWords(text);
    say(text);
  };
  return { run, isBusy: action.isBusy, error: action.error, words };
}
