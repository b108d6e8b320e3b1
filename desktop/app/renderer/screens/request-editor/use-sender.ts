import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../../ipc/ipc.ts';
import type { EditForm, SendResult } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { isOk, nextTry } from '../../model/request-draft.ts';
import { useShell } from '../../view/context.ts';

type Problems = Extract<SendResult, { problems: unknown }>['problems'];

export interface Sender {
  /** the current action: `once` or `until` */
  readonly busy: 'once' | 'until' | undefined;
  /** the progress, or how repeating ended */
  readonly words: string;
  /** number of the last request sent */
  readonly sent: number | undefined;
  readonly error: CallError | undefined;
  readonly problems: Problems;
  readonly send: (form: EditForm) => void;
  /** Sends it until the response is a 2xx, or until it is stopped. */
  readonly sendUntilOk: (form: EditForm) => void;
  readonly stop: () => void;
}

type State = Pick<Sender, 'busy' | 'words' | 'sent' | 'error' | 'problems'>;

const IDLE: State = {
  busy: undefined,
  words: '',
  sent: undefined,
  error: undefined,
  problems: [],
};

/** Sends an edited request, once or until it succeeds. Repeating ends with the screen. */
export function useSender(key: string, id: number): Sender {
  const { bridge, say } = useShell();
  const [state, setState] = useState(IDLE);
  /** changes when the current run should end */
  const turn = useRef(0);
  const update = (change: Partial<State>): void => setState((before) => ({ ...before, ...change }));
  const end = (): number => {
    turn.current += 1;
    return turn.current;
  };
  useEffect(() => () => void end(), []);

  const over = (words: string, change: Partial<State> = {}): void => {
    update({ ...change, busy: undefined, words });
    if (words !== '') say(words);
  };
  const run = async (form: EditForm, busy: 'once' | 'until'): Promise<void> => {
    const mine = end();
    const startedMs = performance.now();
    let tries = 0;
    const attempt = async (): Promise<void> => {
      update({ busy, error: undefined, problems: [], words: busy === 'once' ? '' : untilWords(tries) });
      const answer = await bridge
        .call('bench:send', { key, id, edit: form })
        .catch(() => ({ ok: false as const, error: noAnswer() }));
      if (turn.current !== mine) return;
      const isRefused = !answer.ok && answer.error.code === 'local-refused';
      if (!answer.ok && (busy === 'once' || !isRefused)) return over('', { error: answer.error });
      if (answer.ok && 'problems' in answer.value) return over('', { problems: answer.value.problems });
      const sent = answer.ok && 'sent' in answer.value ? answer.value.sent : undefined;
      if (sent !== undefined) {
        tries += 1;
        update({ sent: sent.id });
      }
      if (busy === 'once') return over(t('bench.sentStatus', { status: statusWords(sent?.status) }));
      if (isOk(sent?.status)) return over(t('bench.okAfter', { status: String(sent?.status), tries }));
      const wait = nextTry(tries, isRefused, performance.now() - startedMs);
      if (wait === undefined) return over(t('bench.noneAfter', { tries }));
      const last = isRefused ? t('bench.nothingListens') : `${statusWords(sent?.status)}.`;
      update({ words: `${last} ${untilWords(tries)}` });
      await new Promise((resolve) => window.setTimeout(resolve, wait));
      if (turn.current === mine) await attempt();
    };
    await attempt();
  };

  return {
    ...state,
    send: (form) => void run(form, 'once'),
    sendUntilOk: (form) => void run(form, 'until'),
    stop: () => {
      end();
      update({ busy: undefined, words: t('bench.stopped') });
    },
  };
}

function noAnswer(): CallError {
  return { code: 'no-answer', text: t('common.noAnswer') };
}

function untilWords(tries: number): string {
  return t('bench.sentTimes', { tries });
}

function statusWords(status: number | undefined): string {
  return status === undefined ? t('bench.noResponse') : String(status);
}
