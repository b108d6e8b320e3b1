import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { REDACTED } from '../../../../../shared/version.ts';
import type { CallError } from '../../../ipc/ipc.ts';
import type { EditForm, EditProblemView, EditView } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { bytesText } from '../../model/numbers.ts';
import {
  changeHeader,
  draftOf,
  type EditDraft,
  formOf,
  withHeader,
  withoutHeader,
} from '../../model/request-editor.ts';
import { useShell } from '../../view/context.ts';
import { Failure, Field, fieldControl, keysText } from '../../view/controls.tsx';
import { hasCommand, useKey } from '../../view/keyboard.ts';
import { Screen } from '../../view/screen.tsx';
import { scrollerOf } from '../../view/virtual-rows.ts';
import { Answers, resultWords, useAnswers } from './results.tsx';

/** Drafts that are kept while the window is open, so that going back loses nothing. */
const DRAFTS_MAX = 20;
const drafts = new Map<string, EditDraft>();

/** Edits a request to send it again, and compares the new response with the previous one. */
export function EditScreen({ tunnelKey, id }: { tunnelKey: string; id: number }): JSX.Element {
  const { view, error } = useEditView(tunnelKey, id);
  if (view !== undefined) return <Editing tunnelKey={tunnelKey} id={id} view={view} />;
  return (
    <Screen title={t('bench.editRequest', { id })}>
      <Failure problem={error} />
    </Screen>
  );
}

const FORM_ID = 'edit-form';

function Editing({ tunnelKey, id, view }: { tunnelKey: string; id: number; view: EditView }): JSX.Element {
  const { say } = useShell();
  const draftId = `${tunnelKey} ${id}`;
  const [draft, setDraft] = useState(() => drafts.get(draftId) ?? draftOf(view));
  const sender = useSender(tunnelKey, id);
  const answers = useAnswers(tunnelKey, id, sender.sent);
  const result = !sender.isBusy ? answers && resultWords(answers) : undefined;
  // Immediately, because the screen may be left before an effect runs.
  useLayoutEffect(() => keep(draftId, draft), [draftId, draft]);
  const { problems, error } = sender;
  useLayoutEffect(() => {
    if (problems.length > 0) document.querySelector<HTMLElement>('.edit [aria-invalid]')?.focus();
  }, [problems]);
  useLayoutEffect(() => {
    if (result === undefined) return;
    const responses = document.querySelector<HTMLElement>('.responses');
    if (responses !== null) scrollTo(responses);
    say(result);
    // Once for each request, even if two have the same result.
  }, [result, answers?.after]);
  const { isBusy } = sender;
  const send = (): void => void (isBusy || sender.send(formOf(draft, view)));
  useKey((event) => hasCommand(event) && event.key === 'Enter' && !event.repeat && isInEditor(event), send);
  return (
    <Screen
      title={t('bench.editRequest', { id })}
      footer={<SendBar isBusy={isBusy} result={result} onReset={() => setDraft(draftOf(view))} />}
    >
      <RequestForm view={view} draft={draft} setDraft={setDraft} problems={problems} onSend={send} />
      {answers !== undefined && <Answers tunnelKey={tunnelKey} answers={answers} />}
      <Failure problem={error} />
    </Screen>
  );
}

/** Scrolls to a part. Unlike `scrollIntoView`, this never moves the window behind the header of the screen. */
function scrollTo(part: HTMLElement): void {
  const scroller = scrollerOf(part);
  const start = scroller === document.scrollingElement ? 0 : scroller.getBoundingClientRect().top;
  scroller.scrollTop += part.getBoundingClientRect().top - start;
}

/** Beside other panes, the key must not act on what the user does there. */
function isInEditor({ target }: KeyboardEvent): boolean {
  if (!(target instanceof Element) || target === document.body) return true;
  return target.closest('.screen')?.contains(document.getElementById(FORM_ID)) === true;
}

/** Sends the request, and shows the result. Always in view, however long the request is. */
function SendBar({
  isBusy,
  result,
  onReset,
}: {
  isBusy: boolean;
  result: string | undefined;
  onReset: () => void;
}): JSX.Element {
  return (
    <>
      {result !== undefined && <p class="sender-words sent-result">{result}</p>}
      <div class="buttons">
        <button
          type="submit"
          form={FORM_ID}
          class="button primary"
          title={t('bench.sendWithKey', { keys: keysText('Mod+Enter') })}
          aria-disabled={isBusy}
        >
          {t('bench.send')}
        </button>
        <button type="button" class="link" onClick={onReset}>
          {t('bench.asItWas')}
        </button>
      </div>
    </>
  );
}

function keep(id: string, draft: EditDraft): void {
  drafts.delete(id);
  drafts.set(id, draft);
  const [oldest] = drafts.keys();
  if (drafts.size > DRAFTS_MAX && oldest !== undefined) drafts.delete(oldest);
}

function useEditView(key: string, id: number): { view?: EditView; error?: CallError } {
  const { bridge } = useShell();
  const [state, setState] = useState<{ view?: EditView; error?: CallError }>({});
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('bench:open', { key, id });
      if (!isOver) setState(answer.ok ? { view: answer.value } : { error: answer.error });
    };
    load().catch(() => setState({ error: { code: 'no-answer', text: t('request.notRead') } }));
    return () => {
      isOver = true;
    };
  }, [bridge, key, id]);
  return state;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Method, path, headers and body, each with its problem. */
function RequestForm({
  view,
  draft,
  setDraft,
  problems,
  onSend,
}: {
  view: EditView;
  draft: EditDraft;
  setDraft: (draft: EditDraft) => void;
  problems: readonly EditProblemView[];
  onSend: () => void;
}): JSX.Element {
  const problemOf = (part: string): string | undefined => problems.find((found) => found.part === part)?.text;
  const hasSecrets = JSON.stringify([draft.target, draft.headers]).includes(REDACTED);
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSend();
  };
  return (
    <form id={FORM_ID} class="stack edit" noValidate onSubmit={submit}>
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
    </form>
  );
}

function bodyHint({ body, bodySize, isCut, isLarge }: EditView, draft: EditDraft): string | undefined {
  if (draft.body !== undefined || body !== undefined) return undefined;
  if (isCut) return t('bench.needsAnother');
  if (isLarge) return t('bench.largeBody', { bytes: bytesText(bodySize) });
  return t('bench.notText', { bytes: bytesText(bodySize) });
}

/** A name and a value for each header, with their problems. */
function HeaderFields({
  draft,
  setDraft,
  problemOf,
}: {
  draft: EditDraft;
  setDraft: (draft: EditDraft) => void;
  problemOf: (part: string) => string | undefined;
}): JSX.Element {
  return (
    <ul class="header-fields">
      {draft.headers.map(({ key, name, value }, index) => {
        const problems = {
          name: problemOf(`fields.${index}.name`),
          value: problemOf(`fields.${index}.value`),
        };
        const note = `edit-header-${key}-note`;
        const control = (part: 'name' | 'value', text: string): JSX.Element => (
          <input
            id={`edit-header-${key}-${part}`}
            class="mono"
            aria-label={
              part === 'name'
                ? t('bench.headerName', { place: index + 1 })
                : name === ''
                  ? t('bench.headerValueAt', { place: index + 1 })
                  : t('bench.headerValue', { name })
            }
            aria-describedby={note}
            aria-invalid={problems[part] === undefined ? undefined : 'true'}
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => setDraft(changeHeader(draft, key, { [part]: event.currentTarget.value }))}
          />
        );
        return (
          <li key={key}>
            {control('name', name)}
            {control('value', value)}
            <button
              type="button"
              class="link"
              aria-label={
                name === ''
                  ? t('bench.removeHeaderAt', { place: index + 1 })
                  : t('bench.removeHeader', { name })
              }
              onClick={() => setDraft(withoutHeader(draft, key))}
            >
              {t('bench.remove')}
            </button>
            <div id={note} class="problem" aria-live="polite">
              {problems.name ?? problems.value}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

interface Sending {
  readonly isBusy: boolean;
  /** number of the last request sent */
  readonly sent: number | undefined;
  readonly error: CallError | undefined;
  readonly problems: readonly EditProblemView[];
}

const IDLE: Sending = { isBusy: false, sent: undefined, error: undefined, problems: [] };

/** Sends an edited request. */
function useSender(key: string, id: number): Sending & { readonly send: (form: EditForm) => void } {
  const { bridge } = useShell();
  const [state, setState] = useState(IDLE);
  const send = async (edit: EditForm): Promise<void> => {
    setState(({ sent }) => ({ ...IDLE, isBusy: true, sent }));
    const answer = await bridge
      .call('bench:send', { key, id, edit })
      .catch(() => ({ ok: false as const, error: { code: 'no-answer', text: t('common.noAnswer') } }));
    const change = !answer.ok
      ? { error: answer.error }
      : 'problems' in answer.value
        ? { problems: answer.value.problems }
        : { sent: answer.value.sent };
    setState(({ sent }) => ({ ...IDLE, sent, ...change }));
  };
  return { ...state, send: (form) => void send(form) };
}
