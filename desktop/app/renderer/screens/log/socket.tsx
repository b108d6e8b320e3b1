import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SocketMessage, SocketMessages } from '../../../../client/inspector/records.ts';
import type { DetailView } from '../../../../client/inspector/records.ts';
import type { Problem } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import {
  countsWords,
  joinedMessages,
  kindWords,
  knownUpTo,
  listedMessages,
  messageBody,
  messageTime,
  messageWords,
  previewText,
  rowSize,
  type Sender,
} from '../../model/request.ts';
import { useShell } from '../../view/context.ts';
import { SearchField } from '../../view/controls.tsx';
import { rowAfter } from '../../view/keyboard.ts';
import { Button, Failure, Notice, Toggles } from '../../view/kit.tsx';
import { drawnRows, useVirtualRows } from '../../view/virtual-rows.ts';
import { Body } from '../body/body.tsx';

/** How often the messages of an open WebSocket are read. */
const REFRESH_MS = 500;
const SENDERS: readonly Sender[] = ['both', 'visitor', 'service'];

/** The messages of a WebSocket: a list, and the chosen one in full. */
export function Socket({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  const { id, startedAt, durationMs, messages: counts } = detail;
  const { known, problem } = useMessages(tunnelKey, id, durationMs === undefined);
  const [sender, setSender] = useState<Sender>('both');
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<number>();
  const messages = known?.messages;
  const listed = useMemo(
    () => messages && listedMessages(messages, sender, typed),
    [messages, sender, typed],
  );
  const message = messages?.find((one) => one.id === chosen);
  const dropped = (known?.oldest ?? 1) - 1;

  return (
    <>
      <Failure problem={problem} />
      {known?.problem !== undefined && <Notice>{t(`socket.problem.${known.problem}`)}</Notice>}
      {counts !== undefined && (
        <div class="line split">
          <span>
            {countsWords(counts)}
            {counts.control > 0 && (
              <span class="dim"> · {t(`socket.control.${counts.kind}`, { count: counts.control })}</span>
            )}
          </span>
          {counts.kind === 'websocket' && (
            <Toggles
              label={t('socket.from')}
              choices={SENDERS.map((each) => [each, t(`socket.${each}`)])}
              value={sender}
              choose={setSender}
            />
          )}
        </div>
      )}
      {messages?.some(({ form }) => form !== 'plain') === true && <p class="hint">{t('socket.deflate')}</p>}
      <SearchField id="filter-messages" label={t('socket.filter')} value={typed} onChange={setTyped} />
      {listed !== undefined && listed.length > 0 ? (
        <MessageList startedAt={startedAt} messages={listed} chosen={chosen} choose={setChosen} />
      ) : (
        known !== undefined && (
          <p class="hint">{t(known.count === 0 ? 'socket.noneYet' : 'socket.noMatch')}</p>
        )
      )}
      {dropped > 0 && <p class="hint">{t('socket.dropped', { count: dropped })}</p>}
      {message !== undefined && <ChosenMessage startedAt={startedAt} message={message} />}
    </>
  );
}

/** Reads the messages, and new ones while the WebSocket is open. */
function useMessages(
  key: string,
  id: number,
  isOpen: boolean,
): { known: SocketMessages | undefined; problem: Pick<Problem, 'text'> | undefined } {
  const { bridge } = useShell();
  const [known, setKnown] = useState<SocketMessages>();
  const [problem, setProblem] = useState<Pick<Problem, 'text'>>();
  const latest = useRef(known);
  const wasOpen = useRef(isOpen);
  wasOpen.current = isOpen;
  useEffect(() => {
    let timer: number | undefined;
    let isOver = false;
    const read = async (): Promise<void> => {
      const isLast = !wasOpen.current;
      const answer = await bridge.call('log:messages', { key, id, after: knownUpTo(latest.current) });
      if (isOver) return;
      if (!answer.ok) return setProblem(answer.error);
      const next = joinedMessages(latest.current, answer.value);
      latest.current = next;
      setKnown(next);
      if (!isLast || knownUpTo(next) < next.count) timer = window.setTimeout(start, REFRESH_MS);
    };
    const start = (): void => void read().catch(() => setProblem({ text: t('socket.notRead') }));
    start();
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, id]);
  return { known, problem };
}

/** Tab reaches one row, and the arrow keys the others from there; the focused row is shown in full. */
function MessageList({
  startedAt,
  messages,
  chosen,
  choose,
}: {
  startedAt: number;
  messages: readonly SocketMessage[];
  chosen: number | undefined;
  choose: (id: number) => void;
}): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  const placeOf = useMemo(() => new Map(messages.map(({ id }, place) => [id, place])), [messages]);
  const rows = useVirtualRows(list, ruler, messages, placeOf);
  const place = chosen === undefined ? undefined : placeOf.get(chosen);
  const wantsFocus = useRef(false);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    list.current?.querySelector<HTMLElement>('[aria-current]')?.focus();
  });
  const drawn =
    rows.layout === undefined ? [] : drawnRows(rows.window, place).filter((at) => at < messages.length);
  const stop = place ?? drawn[0];

  return (
    <div class="scroll socket-rows">
      <div ref={ruler} class="row-ruler" aria-hidden="true" />
      <ul
        ref={list}
        class="socket-list"
        aria-label={t('socket.title')}
        style={{ height: `${rows.layout?.height ?? 0}px` }}
        onKeyDown={(event) => {
          const next = rowAfter(event.key, place ?? drawn[0] ?? 0, messages.length, rows.perPage());
          const message =
            next === undefined ? undefined : messages[Math.max(0, Math.min(next, messages.length - 1))];
          if (message === undefined) return;
          event.preventDefault();
          wantsFocus.current = true;
          choose(message.id);
        }}
      >
        {drawn.map((at) => {
          const message = messages[at];
          return (
            message && (
              <li
                key={message.id}
                aria-setsize={messages.length}
                aria-posinset={at + 1}
                style={{ top: `${rows.layout?.topOf(at) ?? 0}px` }}
              >
                <MessageRow
                  startedAt={startedAt}
                  message={message}
                  isChosen={message.id === chosen}
                  isTabStop={at === stop}
                  choose={choose}
                />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

const MessageRow = memo(function MessageRow({
  startedAt,
  message,
  isChosen,
  isTabStop,
  choose,
}: {
  startedAt: number;
  message: SocketMessage;
  isChosen: boolean;
  isTabStop: boolean;
  choose: (id: number) => void;
}): JSX.Element {
  const { id, isFromVisitor, kind, event } = message;
  const isUsual = kind === 'text' || (kind === 'event' && event?.name === undefined);
  return (
    <Button
      look={`row socket-row ${isFromVisitor ? 'socket-in' : ''}`}
      tabIndex={isTabStop ? 0 : -1}
      aria-current={isChosen ? 'true' : undefined}
      act={() => choose(id)}
    >
      <span
        class="socket-arrow strong"
        title={t(isFromVisitor ? 'socket.fromVisitor' : 'socket.fromService')}
      >
        <span aria-hidden="true">{isFromVisitor ? '↑' : '↓'}</span>
        <span class="unseen">{t(isFromVisitor ? 'socket.fromVisitor' : 'socket.fromService')} </span>
      </span>
      <span class="target mono cut" dir="ltr">
        {!isUsual && <span class="dim">{kindWords(message)} </span>}
        {previewText(message)}
      </span>
      <span class="socket-size cut">{rowSize(message)}</span>
      <span class="socket-time cut">{messageTime(startedAt, message)}</span>
    </Button>
  );
});

function ChosenMessage({ startedAt, message }: { startedAt: number; message: SocketMessage }): JSX.Element {
  const body = useMemo(() => messageBody(message), [message]);
  return (
    <div class="socket-chosen below stack s1">
      <p class="hint">{messageWords(startedAt, message)}</p>
      {message.form === 'plain' || message.form === 'compressed' ? (
        <Body of="message" message={body} />
      ) : (
        <Notice>{previewText(message)}</Notice>
      )}
    </div>
  );
}
