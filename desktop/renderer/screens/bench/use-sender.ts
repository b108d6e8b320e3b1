import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { EditForm, SendResult, WatchedFolder } from '../../../shared/bench.ts';
import type { CallError } from '../../../shared/ipc.ts';
import { isOk, nextTry } from '../../model/bench/until-ok.ts';
import { useShell } from '../../view/context.ts';

type Problems = Extract<SendResult, { problems: unknown }>['problems'];

export interface Sender {
  /** `once` and `until`: what is being done */
  readonly busy: 'once' | 'until' | undefined;
  /** what is going on, or how repeating it ended */
  readonly words: string;
  /** number of the request that was sent last */
  readonly sent: number | undefined;
  /** whose files are watched while it is repeated */
  readonly folder: WatchedFolder | undefined;
  readonly error: CallError | undefined;
  readonly problems: Problems;
  readonly send: (form: EditForm) => void;
  /** Sends it until the response is one of the 2xx, or it is stopped. */
  readonly sendUntilOk: (form: EditForm) => void;
  readonly stop: () => void;
}

type State = Pick<Sender, 'busy' | 'words' | 'sent' | 'folder' | 'error' | 'problems'>;

const IDLE: State = {
  busy: undefined,
  words: '',
  sent: undefined,
  folder: undefined,
  error: undefined,
  problems: [],
};

/** Sends an edited request, once or until it succeeds. What is repeated ends with the screen. */
export function useSender(key: string, id: number): Sender {
  const { bridge, say } = useShell();
  const [state, setState] = useState(IDLE);
  /** of what is being done; another one once it is to end */
  const turn = useRef(0);
  const update = (change: Partial<State>): void => setState((before) => ({ ...before, ...change }));
  const end = (): number => {
    turn.current += 1;
    return turn.current;
  };
  /** Whatever main answers, nothing is repeated any more. */
  const unwatch = (): void => void bridge.call('bench:unwatch', undefined).catch(() => undefined);
  useEffect(
    () => () => {
      end();
      unwatch();
    },
    [],
  );

  const over = (words: string, change: Partial<State> = {}): void => {
    unwatch();
    update({ ...change, busy: undefined, words, folder: undefined });
    if (words !== '') say(words);
  };
  const run = async (form: EditForm, busy: 'once' | 'until'): Promise<void> => {
    const mine = end();
    const startedMs = performance.now();
    let tries = 0;
    let triesSince = 0;
    let folder: WatchedFolder | undefined;
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
        triesSince += 1;
        update({ sent: sent.id });
      }
      if (busy === 'once') return over(t('bench.sentStatus', { status: statusWords(sent?.status) }));
      if (isOk(sent?.status)) return over(t('bench.okAfter', { status: String(sent?.status), tries }));
      const wait = nextTry({ tries, triesSince }, isRefused, performance.now() - startedMs);
      if (wait === undefined) return over(t('bench.noneAfter', { tries }));
      const last = isRefused ? t('bench.nothingListens') : `${statusWords(sent?.status)}.`;
      update({ words: `${last} ${untilWords(tries)}` });
      // Of a server that is not there, the folder is not known.
      if (folder === undefined && !isRefused) {
        folder = await watchedFolder();
        if (turn.current !== mine) return;
        update({ folder });
        if (folder !== undefined) say(t('bench.watching', { folder: folder.name }));
      }
      const isChanged = await changed(wait);
      if (turn.current !== mine) return;
      if (isChanged) triesSince = 0;
      await attempt();
    };
    await attempt();
  };
  const watchedFolder = async (): Promise<WatchedFolder | undefined> => {
    const answer = await bridge.call('bench:watch', { key }).catch(() => undefined);
    return answer?.ok === true ? answer.value.folder : undefined;
  };
  /** Waits until files have changed, or for so many ms. */
  const changed = async (ms: number): Promise<boolean> => {
    const answer = await bridge.call('bench:wait', { ms: Math.round(ms) }).catch(() => undefined);
    if (answer?.ok === true) return answer.value.isChanged;
    // Main has not waited.
    await new Promise((resolve) => window.setTimeout(resolve, ms));
    return false;
  };

  return {
    ...state,
    send: (form) => void run(form, 'once'),
    sendUntilOk: (form) => void run(form, 'until'),
    stop: () => {
      end();
      unwatch();
      update({ busy: undefined, words: t('bench.stopped'), folder: undefined });
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
