import type { JSX, TargetedEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { SetView } from '../../../shared/sets.ts';
import { Failure, Field, fieldControl } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** Another name for a set. @param close called with what to say, or nothing if the name stays */
export function RenameForm({
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
