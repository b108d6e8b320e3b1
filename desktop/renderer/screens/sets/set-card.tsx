import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { SetView } from '../../../shared/sets.ts';
import { useShell } from '../../view/context.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { ActionLink } from '../../view/action-link.tsx';
import { KeptRow } from './kept-row.tsx';
import { RenameForm } from './rename-form.tsx';
import type { SetSender } from './use-set-sender.ts';

/** One set: its name opens its requests. */
export function SetCard({
  tunnelKey,
  set,
  isOnly,
  canSend,
  sender,
}: {
  tunnelKey: string;
  set: SetView;
  /** whether there is no other, so that it is open from the beginning */
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
          {/* One button, so that it keeps the focus. */}
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
            <KeptRow
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

/** Id of what opens a set. */
export function setHeadingId(id: string): string {
  return `set-${id}`;
}
