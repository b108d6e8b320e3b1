import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../../ipc/ipc.ts';
import type { SavedRequestRef } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { type SavedResult, type SavedResults, progressWords, sentWords } from '../../model/request-draft.ts';
import { useShell } from '../../view/context.ts';

export interface SetSender {
  /** id of the set that is being sent, whole or in part */
  readonly busy: string | undefined;
  /** what goes on, or how it ended; of the set that was sent last */
  readonly words: string;
  /** the set that was sent last */
  readonly last: string | undefined;
  /** why it ended before all were sent */
  readonly error: CallError | undefined;
  /** what came of those that were sent last */
  readonly results: SavedResults;
  /** Sends requests of one set one after another; does nothing while others are sent. */
  readonly send: (set: string, requests: readonly string[]) => void;
  /** Sends no more. What is under way comes to its end. */
  readonly stop: () => void;
}

type State = Pick<SetSender, 'busy' | 'words' | 'last' | 'error'>;

const IDLE: State = { busy: undefined, words: '', last: undefined, error: undefined };
/** Tunnels whose results are kept while the window is open, so that a look at a request loses none. */
const TUNNELS_MAX = 20;
const kept = new Map<string, SavedResults>();

/** Sends what is kept to a tunnel. It ends with the screen, and with the first request that could not be sent. */
export function useSetSender(key: string): SetSender {
  const { bridge, say } = useShell();
  const [state, setState] = useState(IDLE);
  const [results, setResults] = useState(kept.get(key) ?? NO_RESULTS);
  /** of what is being sent; another one once it is to end */
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
