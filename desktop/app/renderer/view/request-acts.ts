import { useMemo } from 'preact/hooks';
import { t } from '../../messages/translate.ts';
import { useShell } from './context.ts';
import type { Action } from './use-action.ts';

/** What can be done with a request of a log without opening it, by number. Copies contain no secrets. */
export interface RequestActs {
  readonly replay: (id: number) => Promise<void>;
  readonly edit: (id: number) => void;
  readonly copyCurl: (id: number) => Promise<void>;
}

/** @param run runs the calls, and keeps their errors */
export function useRequestActs(key: string, run: Action['run']): RequestActs {
  const { go, say } = useShell();
  return useMemo(
    () => ({
      async replay(id) {
        if ((await run('log:replay', { key, id })).ok) say(t('request.sentAgain'));
      },
      edit: (id) => go({ screen: 'edit', key, id }),
      async copyCurl(id) {
        const answer = await run('log:copy-curl', { key, id, reveal: false });
        if (answer.ok) say(t(answer.value.hidesSecrets ? 'request.copiedCurlClean' : 'request.copiedCurl'));
      },
    }),
    [key, run, go, say],
  );
}
