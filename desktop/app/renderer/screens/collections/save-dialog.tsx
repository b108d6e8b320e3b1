import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../../client/inspector/records.ts';
import type { SetView } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { targetText } from '../../model/request.ts';
import { useAction, useShell } from '../../view/context.ts';
import { Failure, Field, fieldControl } from '../../view/controls.tsx';
import { closeOnEscape, useModal } from '../../view/keyboard.ts';

const TITLE = 'keep-title';
const SET = 'keep-set';
const NAME = 'keep-name';
/** means a new collection */
const NEW = '';

/** Asks for the collection of a request. The undo notice confirms that it was saved. */
export function KeepDialog({
  tunnelKey,
  request,
  close,
}: {
  tunnelKey: string;
  request: Pick<RequestSummary, 'id' | 'method' | 'target'>;
  close: () => void;
}): JSX.Element {
  const { bridge } = useShell();
  const dialog = useModal();
  const action = useAction();
  const [sets, setSets] = useState<readonly SetView[]>();
  const [chosen, setChosen] = useState(NEW);
  const [name, setName] = useState('');
  useEffect(() => {
    let isOver = false;
    const show = (known: readonly SetView[]): void => {
      if (isOver) return;
      setSets(known);
      // Users mostly add to the newest collection.
      setChosen(known.at(-1)?.id ?? NEW);
    };
    // If the list fails, the user can still create a collection, which then shows the error.
    bridge.call('set:list', undefined).then(
      (answer) => show(answer.ok ? answer.value.sets : []),
      () => show([]),
    );
    return () => {
      isOver = true;
    };
  }, [bridge]);
  useLayoutEffect(() => {
    if (sets !== undefined) document.getElementById(sets.length > 0 ? SET : NAME)?.focus();
  }, [sets]);

  const problem = action.error?.field === 'name' ? action.error.text : undefined;
  useLayoutEffect(() => {
    if (problem !== undefined) document.getElementById(NAME)?.focus();
  }, [problem]);
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (action.isBusy || sets === undefined) return;
    const ref = { key: tunnelKey, id: request.id };
    const answer =
      chosen === NEW
        ? await action.run('set:create', { ...ref, name })
        : await action.run('set:add', { ...ref, set: chosen });
    if (answer.ok) close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={closeOnEscape(action, close)}>
      <h2 id={TITLE}>{t('sets.keepTitle', { method: request.method, target: targetText(request) })}</h2>
      <form class="stack" noValidate onSubmit={(event) => void submit(event)}>
        {sets !== undefined && sets.length > 0 && (
          <Field id={SET} label={t('sets.set')}>
            <select
              {...fieldControl(SET, undefined)}
              value={chosen}
              onChange={(event) => setChosen(event.currentTarget.value)}
            >
              {sets.map((set) => (
                <option key={set.id} value={set.id} dir="auto" translate={false}>
                  {set.name}
                </option>
              ))}
              <option value={NEW}>{t('sets.new')}</option>
            </select>
          </Field>
        )}
        {sets !== undefined && chosen === NEW && (
          <Field id={NAME} label={t('sets.name')} problem={problem} hint={t('sets.nameHint')}>
            <input
              {...fieldControl(NAME, problem)}
              autocomplete="off"
              value={name}
              onInput={(event) => {
                setName(event.currentTarget.value);
                if (action.error !== undefined) action.clear();
              }}
            />
          </Field>
        )}
        <p class="hint">{t('sets.withSecrets')}</p>
        <Failure problem={problem === undefined ? action.error : undefined} />
        <div class="dialog-buttons">
          <button
            type="button"
            class="button"
            aria-disabled={action.isBusy}
            onClick={() => action.isBusy || close()}
          >
            {t('common.cancel')}
          </button>
          <button type="submit" class="button primary" aria-disabled={action.isBusy || sets === undefined}>
            {t('sets.keep')}
          </button>
        </div>
      </form>
    </dialog>
  );
}
