import type { JSX, TargetedEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Imported } from '../../ipc/request-views.ts';
import type { TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { importedWords, writtenText } from '../model/request.ts';
import { type Outcome, useAction, useShell } from '../view/context.ts';
import { Failure, Field, fieldControl } from '../view/controls.tsx';
import { useModal } from '../view/keyboard.ts';

const TITLE = 'import-title';
const TEXT = 'import-text';

/** Imports a HAR file or a `curl` command into the log of a tunnel, and shows the result. */
export function ImportDialog({
  tunnel: { key, slug },
  close,
}: {
  tunnel: Pick<TunnelView, 'key' | 'slug'>;
  close: () => void;
}): JSX.Element {
  const { go, say } = useShell();
  const dialog = useModal();
  const action = useAction();
  const [text, setText] = useState('');
  const [imported, setImported] = useState<Imported>();
  const done = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => done.current?.focus(), [imported]);

  const show = ({ ids }: Imported): void => {
    // A place remembers the focus, which closing the dialog restores.
    dialog.current?.close();
    close();
    const [id] = ids;
    if (id !== undefined) go(ids.length === 1 ? { screen: 'request', key, id } : { screen: 'log', key });
  };
  const take = async (asked: Promise<Outcome<'import:text' | 'import:file'>>): Promise<void> => {
    const answer = await asked;
    if (!answer.ok || answer.value === undefined) return;
    const words = importedWords(answer.value);
    say(words.join(' '));
    if (words.length > 1) setImported(answer.value);
    else show(answer.value);
  };
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!action.isBusy) void take(action.run('import:text', { key, text }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    if (imported !== undefined) show(imported);
    else if (!action.isBusy) close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      <h2 id={TITLE}>{t('import.title', { slug })}</h2>
      {imported === undefined ? (
        <form class="stack" noValidate onSubmit={submit}>
          <Field id={TEXT} label={t('import.text')} hint={t('import.hint')}>
            <textarea
              {...fieldControl(TEXT, undefined)}
              class="mono"
              rows={6}
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </Field>
          <Failure problem={action.error} />
          <div class="dialog-buttons">
            <button
              type="button"
              class="button"
              aria-disabled={action.isBusy}
              onClick={() => action.isBusy || close()}
            >
              {t('common.cancel')}
            </button>
            <button
              type="button"
              class="button"
              aria-disabled={action.isBusy}
              onClick={() => void (action.isBusy || take(action.run('import:file', { key })))}
            >
              {t('import.file')}
            </button>
            <button type="submit" class="button primary" aria-disabled={action.isBusy}>
              {t('import.import')}
            </button>
          </div>
        </form>
      ) : (
        <>
          {importedWords(imported).map((words, index) => (
            <p key={index}>{words}</p>
          ))}
          <div class="dialog-buttons">
            <button ref={done} type="button" class="button primary" onClick={() => show(imported)}>
              {t(imported.ids.length === 0 ? 'common.close' : 'log.show')}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}

export interface Export {
  /** Writes requests to a HAR, one file at a time. @param reveal include secrets */
  readonly run: (ids: readonly number[], reveal: boolean) => Promise<void>;
  readonly isBusy: boolean;
  readonly error: CallError | undefined;
  /** what was written, and where; empty before */
  readonly words: string;
}

/** Exports requests of a tunnel to a file chosen by the user. */
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
