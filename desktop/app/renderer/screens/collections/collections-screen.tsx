import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import type { CallError } from '../../../ipc/ipc.ts';
import type {
  CollectionsView,
  SavedRequestRef,
  SavedRequestView,
  SetView,
} from '../../../ipc/request-views.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import {
  isFine,
  progressWords,
  resultText,
  type SavedResult,
  type SavedResults,
  sentWords,
} from '../../model/request-editor.ts';
import { targetText } from '../../model/request.ts';
import { type Action, useAction, useShell } from '../../view/context.ts';
import { ActionLink, Failure, Field, fieldControl, Notice } from '../../view/controls.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Screen } from '../../view/screen.tsx';

/** Collections of saved requests, which can be sent to a tunnel's local server at any time. */
export function SetsScreen({
  tunnelKey,
  tunnels,
  revision,
}: {
  tunnelKey: string;
  tunnels: readonly TunnelView[];
  /** revision of the collections */
  revision: number;
}): JSX.Element {
  const { view, error } = useSets(revision);
  const sender = useSetSender(tunnelKey);
  const list = useRef<HTMLUListElement>(null);
  const sets = view?.sets ?? [];
  // A collection disappears when it is removed, or when its creation is undone.
  useKeptFocus(list, (place) => {
    const next = sets[Math.min(place, sets.length - 1)];
    return next === undefined ? document.querySelector('h1') : document.getElementById(setHeadingId(next.id));
  });
  const tunnel = tunnels.find(({ key }) => key === tunnelKey);
  const canSend = tunnel?.status.name === 'online';
  return (
    <Screen title={t('sets.title')}>
      <Failure problem={error} />
      {tunnel === undefined ? (
        <Notice>{t('log.tunnelGone')}</Notice>
      ) : (
        sets.length > 0 && (
          <p class="hint">
            {canSend
              ? t('sets.sentTo', { slug: tunnel.slug, port: tunnel.localPort })
              : t('sets.needsOnline', { slug: tunnel.slug })}
          </p>
        )
      )}
      {view !== undefined && sets.length === 0 && <p class="dim nothing">{t('sets.none')}</p>}
      <ul ref={list} class="sets">
        {sets.map((set) => (
          <SetCard
            key={set.id}
            tunnelKey={tunnelKey}
            set={set}
            isOnly={sets.length === 1}
            canSend={canSend}
            sender={sender}
          />
        ))}
      </ul>
      {view !== undefined && sets.length > 0 && (
        <p class="hint">{t(view.isKept ? 'secrets.keptBySystem' : 'secrets.inMemory')}</p>
      )}
    </Screen>
  );
}

/** One collection, whose name unfolds its requests. */
function SetCard({
  tunnelKey,
  set,
  isOnly,
  canSend,
  sender,
}: {
  tunnelKey: string;
  set: SetView;
  /** whether it is the only one, which is unfolded initially */
  isOnly: boolean;
  canSend: boolean;
  sender: SetSender;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { id, name, requests } = set;
  const [isOpen, setOpen] = useState(isOnly);
  const [isRenaming, setRenaming] = useState(false);
  const rows = useRef<HTMLUListElement>(null);
  useKeptFocus(rows, (place) => {
    const next = requests[Math.min(place, requests.length - 1)];
    return document.getElementById(next === undefined ? setHeadingId(id) : `send-${next.id}`);
  });
  const isSending = sender.busy === id;
  const sendWord = t(isSending ? 'bench.stop' : 'sets.sendAll');
  const sendAll = (): void => {
    setOpen(true);
    sender.send(
      id,
      requests.map((request) => request.id),
    );
  };
  const endRenaming = (words = ''): void => {
    setRenaming(false);
    document.getElementById(`rename-${id}`)?.focus();
    if (words !== '') say(words);
  };
  return (
    <li class="set">
      <div class="set-top">
        <h2>
          <button
            type="button"
            id={setHeadingId(id)}
            class="set-name"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <b>
              <bdi>{name}</bdi>
            </b>{' '}
            <span class="dim">{t('sets.requests', { count: requests.length })}</span>
          </button>
        </h2>
        <span class="set-actions">
          {/* The same button in both states, so that it keeps the focus. */}
          <button
            type="button"
            class="button small"
            aria-label={t('tunnels.actionOf', { action: sendWord, slug: name })}
            disabled={!isSending && (!canSend || requests.length === 0)}
            aria-disabled={sender.busy !== undefined && !isSending}
            onClick={isSending ? sender.stop : sendAll}
          >
            {sendWord}
          </button>
          <ActionLink
            id={`rename-${id}`}
            label={t('sets.rename')}
            of={name}
            expanded={isRenaming}
            onClick={() => setRenaming(!isRenaming)}
          />
          <ActionLink
            label={t('sets.remove')}
            of={name}
            apart
            onClick={() => void (action.isBusy || action.run('set:remove', { set: id }))}
          />
        </span>
      </div>
      {isRenaming && <RenameForm set={set} close={endRenaming} />}
      {sender.last === id && sender.words !== '' && <p class="sender-words">{sender.words}</p>}
      <Failure problem={action.error ?? (sender.last === id ? sender.error : undefined)} />
      {isOpen && (
        <ul ref={rows} class="kept-rows" aria-label={t('sets.requestsOf', { name })}>
          {requests.map((request) => (
            <SavedRow
              key={request.id}
              tunnelKey={tunnelKey}
              set={id}
              request={request}
              result={sender.results.get(request.id)}
              canSend={canSend}
              isBusy={sender.busy !== undefined}
              run={action.run}
              send={() => sender.send(id, [request.id])}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

/** Id of the control that unfolds a collection. */
function setHeadingId(id: string): string {
  return `set-${id}`;
}

/** A saved request, its last result, and its actions. */
function SavedRow({
  tunnelKey,
  set,
  request,
  result,
  canSend,
  isBusy,
  run,
  send,
}: {
  tunnelKey: string;
  /** id of its collection */
  set: string;
  request: SavedRequestView;
  result: SavedResult | undefined;
  canSend: boolean;
  /** whether a collection is being sent */
  isBusy: boolean;
  run: Action['run'];
  send: () => void;
}): JSX.Element {
  const { go } = useShell();
  const target = targetText(request);
  const method = escapeUnprintable(request.method);
  const words = `${method} ${target}`;
  const edit = async (): Promise<void> => {
    const answer = await run('set:open', { key: tunnelKey, set, request: request.id });
    if (answer.ok) go({ screen: 'edit', key: tunnelKey, id: answer.value.id });
  };
  return (
    <li class="kept-row">
      <span class="kept-request" dir="ltr">
        <span class="method">{method}</span> {target}
      </span>
      {result !== undefined && (
        <button
          type="button"
          id={`result-${request.id}`}
          class={`link ${isFine(result) ? '' : 'status-failed'}`}
          aria-label={t('sets.resultOf', { result: resultText(result), request: words })}
          onClick={() => go({ screen: 'request', key: tunnelKey, id: result.id })}
        >
          {resultText(result)}
        </button>
      )}
      <span class="set-actions">
        <button
          type="button"
          id={`send-${request.id}`}
          class="link"
          aria-label={t('tunnels.actionOf', { action: t('bench.send'), slug: words })}
          disabled={!canSend}
          aria-disabled={isBusy}
          onClick={send}
        >
          {t('bench.send')}
        </button>
        <ActionLink id={`edit-${request.id}`} label={t('sets.edit')} of={words} onClick={() => void edit()} />
        <ActionLink
          label={t('sets.remove')}
          of={words}
          apart
          onClick={() => void run('set:remove-request', { set, request: request.id })}
        />
      </span>
    </li>
  );
}

/** Renames a collection. @param close called with the announcement, or nothing if the name stays */
function RenameForm({
  set: { id, name },
  close,
}: {
  set: SetView;
  close: (words?: string) => void;
}): JSX.Element {
  const action = useAction();
  const [written, setWritten] = useState(name);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  const field = `name-${id}`;
  const problem = action.error?.field === 'name' ? action.error.text : undefined;
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (action.isBusy) return;
    const answer = await action.run('set:rename', { set: id, name: written });
    if (answer.ok) close(t('sets.renamed', { name: written.trim() }));
    else input.current?.focus();
  };
  return (
    <form
      noValidate
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        close();
      }}
    >
      <Field id={field} label={t('sets.name')} problem={problem}>
        <div class="with-button">
          <input
            {...fieldControl(field, problem)}
            ref={input}
            autocomplete="off"
            value={written}
            onInput={(event) => {
              setWritten(event.currentTarget.value);
              if (action.error !== undefined) action.clear();
            }}
          />
          <button type="submit" class="button" aria-disabled={action.isBusy}>
            {t('sets.save')}
          </button>
        </div>
      </Field>
      <Failure problem={problem === undefined ? action.error : undefined} />
    </form>
  );
}

/** The collections, reloaded whenever one changes. @param revision of the collections, from the snapshot */
function useSets(revision: number): { view?: CollectionsView; error?: CallError } {
  const { bridge } = useShell();
  const [state, setState] = useState<{ view?: CollectionsView; error?: CallError }>({});
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('set:list', undefined);
      if (!isOver) setState(answer.ok ? { view: answer.value } : { error: answer.error });
    };
    load().catch(() => {
      if (!isOver) setState({ error: { code: 'no-answer', text: t('common.noAnswer') } });
    });
    return () => {
      isOver = true;
    };
  }, [bridge, revision]);
  return state;
}

interface SetSender {
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
function useSetSender(key: string): SetSender {
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
