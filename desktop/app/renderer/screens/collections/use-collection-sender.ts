import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../../ipc/ipc.ts';
import type { SavedRequestRef } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { type SavedResult, type SavedResults, progressWords, sentWords } from '../../model/request-draft.ts';
import { useShell } from '../../view/context.ts';

export interface SetSender {
  /** id of the collection that is being sent, completely or in part */
  readonly busy: string | undefined;
  /** the progress or result of the last collection */
  readonly words: string;
  /** id of the last collection */
  readonly last: string | undefined;
  /** why it ended before all were sent */
  readonly error: CallError | undefined;
  /** results of the last requests */
  readonly results: SavedResults;
  /** Sends requests of one collection in order. Does nothing while others are being sent. */
  readonly send: (set: string, requests: readonly string[]) => void;
  /** Sends no more requests. A running one is completed. */
  readonly stop: () => void;
}

type State = Pick<SetSender, 'busy' | 'words' | 'last' | 'error'>;

const IDLE: State = { busy: undefined, words: '', last: undefined, error: undefined };
/** Tunnels whose results are kept while the window is open, so that looking at a request loses none. */
const TUNNELS_MAX = 20;
const kept = new Map<string, SavedResults>();

/** Sends saved requests to a tunnel. Ends with the screen, and at the first request that cannot be sent. */
export function useSetSender(key: string): SetSender {
  const { bridge, say } = useShell();
  const [state, setState] = useState(IDLE);
  const [results, setResults] = useState(kept.get(key) ?? NO_RESULTS);
  /** changes when the current run should end */
  const turn = useRef(0);
  useEffect(
    () => () => {
      turn.current += 1;
    },
    [],
  );

  const record = (change: (results: Map<string, SavedResult>) => void): void => {
    const next = new Map(kept.get(key));
    change(next);
    keep(key, next);
    setResults(next);
  };
  const over = (set: string, words: string, error?: CallError): void => {
    setState({ busy: undefined, words, last: set, error });
    if (words !== '') say(words);
  };
  const run = async (set: string, requests: readonly string[]): Promise<void> => {
    turn.current += 1;
    const mine = turn.current;
    const sent: SavedResult[] = [];
    record((all) => requests.forEach((request) => all.delete(request)));
    for (const request of requests) {
      setState({
        busy: set,
        words: progressWords(sent.length, requests.length),
        last: set,
        error: undefined,
      });
      const ref: SavedRequestRef = { set, request };
      const answer = await bridge
        .call('set:send', { key, ...ref })
        .catch(() => ({ ok: false as const, error: { code: 'no-answer', text: t('common.noAnswer') } }));
      if (answer.ok) record((all) => all.set(request, answer.value.sent));
      if (turn.current !== mine) return;
      if (!answer.ok) return over(set, '', answer.error);
      sent.push(answer.value.sent);
    }
    over(set, sentWords(sent));
  };

  return {
    ...state,
    results,
    send(set, requests) {
      if (state.busy === undefined) void run(set, requests);
    },
    stop() {
      turn.current += 1;
      if (state.busy !== undefined) over(state.busy, t('bench.stopped'));
    },
  };
}

const NO_RESULTS: SavedResults = new Map();

function keep(key: string, results: SavedResults): void {
  kept.delete(key);
  kept.set(key, results);
  const [oldest] = kept.keys();
  if (kept.size > TUNNELS_MAX && oldest !== undefined) kept.delete(oldest);
}
