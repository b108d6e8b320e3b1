import type { JSX, TargetedEvent } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { REDACTED } from '../../../../shared/redacted.ts';
import type { EditProblemView, EditView } from '../../../shared/bench.ts';
import { type EditDraft, withHeader } from '../../model/bench/edit-draft.ts';
import { bytesText } from '../../model/numbers.ts';
import { Field, fieldControl } from '../../view/parts.tsx';
import { HeaderFields } from './header-fields.tsx';
import type { Sender } from './use-sender.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Method, path, headers and body, each with what is wrong with it. */
export function RequestForm({
  view,
  draft,
  setDraft,
  problems,
  sender,
  onSend,
  onUntil,
  onReset,
}: {
  view: EditView;
  draft: EditDraft;
  setDraft: (draft: EditDraft) => void;
  problems: readonly EditProblemView[];
  sender: Sender;
  onSend: () => void;
  onUntil: () => void;
  onReset: () => void;
}): JSX.Element {
  const problemOf = (part: string): string | undefined => problems.find((found) => found.part === part)?.text;
  const isBusy = sender.busy !== undefined;
  const hasSecrets = JSON.stringify([draft.target, draft.headers]).includes(REDACTED);
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!isBusy) onSend();
  };
  return (
    <form class="stack edit" noValidate onSubmit={submit}>
      <div class="edit-line">
        <Field id="edit-method" label={t('bench.method')} problem={problemOf('method')}>
          <input
            {...fieldControl('edit-method', problemOf('method'))}
            class="mono"
            list="edit-methods"
            autocomplete="off"
            spellcheck={false}
            value={draft.method}
            onInput={(event) => setDraft({ ...draft, method: event.currentTarget.value })}
          />
          <datalist id="edit-methods">
            {METHODS.map((method) => (
              <option key={method} value={method} />
            ))}
          </datalist>
        </Field>
        <Field id="edit-target" label={t('bench.path')} problem={problemOf('target')}>
          <input
            {...fieldControl('edit-target', problemOf('target'))}
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={draft.target}
            onInput={(event) => setDraft({ ...draft, target: event.currentTarget.value })}
          />
        </Field>
      </div>
      <fieldset class="field">
        <legend>{t('bench.headers')}</legend>
        <HeaderFields draft={draft} setDraft={setDraft} problemOf={problemOf} />
        <div class="buttons">
          <button type="button" class="link" onClick={() => setDraft(withHeader(draft))}>
            {t('bench.addHeader')}
          </button>
        </div>
        <p class="hint">{t('bench.byCulvert')}</p>
        {hasSecrets && <p class="hint">{t('bench.redacted', { mark: REDACTED })}</p>}
        <div class="problem" aria-live="polite">
          {problemOf('fields')}
        </div>
      </fieldset>
      <Field id="edit-body" label={t('bench.body')} hint={bodyHint(view, draft)} problem={problemOf('body')}>
        <textarea
          {...fieldControl('edit-body', problemOf('body'))}
          class="mono"
          rows={8}
          spellcheck={false}
          value={draft.body ?? view.body ?? ''}
          onInput={(event) => setDraft({ ...draft, body: event.currentTarget.value })}
        />
      </Field>
      {view.signer !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            checked={draft.signs}
            onChange={(event) => setDraft({ ...draft, signs: event.currentTarget.checked })}
          />
          <span>
            {t('bench.signs', { name: view.signer })}
            <span class="hint">{t('bench.signsHint')}</span>
          </span>
        </label>
      )}
      <div class="buttons">
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          {t('bench.send')}
        </button>
        {sender.busy === 'until' ? (
          <button type="button" class="button" onClick={sender.stop}>
            {t('bench.stop')}
          </button>
        ) : (
          <button type="button" class="button" aria-disabled={isBusy} onClick={() => isBusy || onUntil()}>
            {t('bench.sendUntil')}
          </button>
        )}
        <button type="button" class="link" onClick={onReset}>
          {t('bench.asItWas')}
        </button>
      </div>
      <p class="hint">{t('bench.untilHint')}</p>
      {sender.words !== '' && <p class="sender-words">{sender.words}</p>}
    </form>
  );
}

function bodyHint({ body, bodySize, isCut }: EditView, draft: EditDraft): string | undefined {
  if (draft.body !== undefined || body !== undefined) return undefined;
  if (isCut) return t('bench.needsAnother');
  return t('bench.notText', { bytes: bytesText(bodySize) });
}
