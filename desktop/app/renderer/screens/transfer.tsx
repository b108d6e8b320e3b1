import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CallError } from '../../ipc/ipc.ts';
import type { Imported } from '../../ipc/request-views.ts';
import type { TunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Outcome } from '../model/actions.ts';
import { importedWords, writtenText } from '../model/request.ts';
import { useAction, useShell } from '../view/context.ts';
import { Button, Dialog, Field, TextArea } from '../view/kit.tsx';

/** Imports a HAR file or a `curl` command into the log of a tunnel, and shows the result. */
export function ImportDialog({
  tunnel: { key, slug },
  close,
}: {
  tunnel: Pick<TunnelView, 'key' | 'slug'>;
  close: () => void;
}): JSX.Element {
  const { go, say } = useShell();
  const action = useAction();
  const [text, setText] = useState('');
  const [imported, setImported] = useState<Imported>();
  const title = t('import.title', { slug });

  const show = ({ ids }: Imported): void => {
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
  if (imported !== undefined)
    return (
      <Dialog
        key="imported"
        title={title}
        close={() => show(imported)}
        closeWord={t(imported.ids.length === 0 ? 'common.close' : 'log.show')}
        closeLook="button primary"
      >
        {importedWords(imported).map((words, index) => (
          <p key={index}>{words}</p>
        ))}
      </Dialog>
    );
  return (
    <Dialog
      key="import"
      title={title}
      close={close}
      closeWord={t('common.cancel')}
      isBusy={action.isBusy}
      problem={action.error}
      submit={() => take(action.run('import:text', { key, text }))}
      buttons={
        <>
          <Button isBusy={action.isBusy} act={() => take(action.run('import:file', { key }))}>
            {t('import.file')}
          </Button>
          <Button look="button primary" isBusy={action.isBusy}>
            {t('import.import')}
          </Button>
        </>
      }
    >
      <Field id="import-text" label={t('import.text')} hint={t('import.hint')}>
        <TextArea class="mono" rows={6} value={text} change={setText} />
      </Field>
    </Dialog>
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
