import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { REDACTED } from '../../../../../shared/version.ts';
import { indentJson } from '../../../../client/inspector/readable.ts';
import type { EditProblemView } from '../../../../client/methods/peer.ts';
import type { EditView } from '../../../ipc/request-views.ts';
import { t } from '../../../messages/translate.ts';
import { bytesText } from '../../model/numbers.ts';
import { draftOf, type EditDraft, editOf, headerProblem, shownBody } from '../../model/request-editor.ts';
import { useAction, useShell } from '../../view/context.ts';
import { Shortcut } from '../../view/controls.tsx';
import { hasCommand, useKey } from '../../view/keyboard.ts';
import { Button, Choice, Failed, Failure, Field, Form, Input, TextArea } from '../../view/kit.tsx';
import { Screen } from '../../view/screen.tsx';
import { useLoaded } from '../../view/use-loaded.ts';
import { scrollerOf } from '../../view/virtual-rows.ts';
import { Answers, resultWords, useAnswers } from './results.tsx';

/** Drafts that are kept while the window is open, so that going back loses nothing. */
const DRAFTS_MAX = 20;
const drafts = new Map<string, EditDraft>();

/** Edits a request to send it again, and compares the new response with the previous one. */
export function EditScreen({ tunnelKey, id }: { tunnelKey: string; id: number }): JSX.Element {
  const view = useLoaded('bench:open', { key: tunnelKey, id });
  if (view.value !== undefined) return <Editing tunnelKey={tunnelKey} id={id} view={view.value} />;
  return (
    <Screen title={t('bench.editRequest')}>
      <Failed of={view} />
    </Screen>
  );
}

const FORM_ID = 'edit-form';

function Editing({ tunnelKey, id, view }: { tunnelKey: string; id: number; view: EditView }): JSX.Element {
  const { say } = useShell();
  const draftId = `${tunnelKey} ${id}`;
  const [draft, setDraft] = useState(() => drafts.get(draftId) ?? draftOf(view));
  const sender = useAction();
  const { isBusy, error } = sender;
  const [sent, setSent] = useState<number>();
  const [problems, setProblems] = useState<readonly EditProblemView[]>([]);
  const answers = useAnswers(tunnelKey, id, sent);
  const result = isBusy ? undefined : answers && resultWords(answers);
  // Immediately, because the screen may be left before an effect runs.
  useLayoutEffect(() => keep(draftId, draft), [draftId, draft]);
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
  const send = async (): Promise<void> => {
    if (isBusy) return;
    setProblems([]);
    const answer = await sender.run('log:edit', { key: tunnelKey, id, ...editOf(draft, view) });
    if (answer.ok) setSent(answer.value);
    else setProblems(answer.error.problems ?? []);
  };
  useKey(
    (event) => hasCommand(event) && event.key === 'Enter' && !event.repeat && isInEditor(event),
    () => void send(),
  );
  return (
    <Screen
      title={t('bench.editRequest')}
      footer={<SendBar isBusy={isBusy} result={result} onReset={() => setDraft(draftOf(view))} />}
    >
      <div class="editing">
        <RequestForm view={view} draft={draft} setDraft={setDraft} problems={problems} onSend={send} />
        {answers === undefined ? (
          <p class="answer-here hint">{t('bench.answerHere')}</p>
        ) : (
          <Answers tunnelKey={tunnelKey} answers={answers} />
        )}
      </div>
      {problems.length === 0 && <Failure problem={error} />}
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
      {result !== undefined && <p class="sent-result strong">{result}</p>}
      <div class="line">
        <Button
          form={FORM_ID}
          look="button primary with-key"
          aria-keyshortcuts="Control+Enter Meta+Enter"
          isBusy={isBusy}
        >
          {t('bench.send')}
          <span aria-hidden="true">
            <Shortcut keys="Mod+Enter" />
          </span>
        </Button>
        <Button look="link" act={onReset}>
          {t('bench.asItWas')}
        </Button>
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

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Method, path, body and headers, each with its problem. */
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
  onSend: () => Promise<void>;
}): JSX.Element {
  const problemOf = (part: string): string | undefined => problems.find((found) => found.part === part)?.text;
  const { say } = useShell();
  const body = draft.body ?? shownBody(view);
  const laidOut = indentJson(body);
  const hasSecrets = JSON.stringify([draft.target, draft.headers]).includes(REDACTED);
  const change = (changes: Partial<EditDraft>): void => setDraft({ ...draft, ...changes });
  return (
    <Form id={FORM_ID} class="edit stack s4" submit={onSend}>
      <div class="edit-line">
        <Field id="edit-method" label={t('bench.method')} problem={problemOf('method')}>
          <Input
            class="mono"
            list="edit-methods"
            value={draft.method}
            change={(method) => change({ method })}
          />
        </Field>
        <datalist id="edit-methods">
          {METHODS.map((method) => (
            <option key={method} value={method} />
          ))}
        </datalist>
        <Field id="edit-target" label={t('bench.path')} problem={problemOf('target')}>
          <Input class="mono" value={draft.target} change={(target) => change({ target })} />
        </Field>
      </div>
      <div class="edit-body stack s1">
        <Field
          id="edit-body"
          label={t('bench.body')}
          hint={bodyHint(view, draft)}
          problem={problemOf('body')}
        >
          <TextArea class="mono" rows={12} value={body} change={(text) => change({ body: text })} />
        </Field>
        {laidOut !== undefined && (
          <Button
            look="link format"
            disabled={laidOut === body}
            act={() => {
              change({ body: laidOut });
              say(t('bench.formatted'));
            }}
          >
            {t('bench.format')}
          </Button>
        )}
      </div>
      <Field
        id="edit-headers"
        label={t('bench.headers')}
        hint={`${t('bench.byCulvert')}${hasSecrets ? ` ${t('bench.redacted', { mark: REDACTED })}` : ''}`}
        problem={headerProblem(draft, problems)}
      >
        <TextArea
          class="mono"
          rows={Math.min(12, draft.headers.split('\n').length + 1)}
          value={draft.headers}
          change={(headers) => change({ headers })}
        />
      </Field>
      {view.signer !== undefined && (
        <Choice
          label={t('bench.signs', { name: view.signer })}
          hint={t('bench.signsHint')}
          checked={draft.signs}
          change={(signs) => change({ signs })}
        />
      )}
    </Form>
  );
}

function bodyHint({ body, bodySize, isCut, isLarge }: EditView, draft: EditDraft): string | undefined {
  if (draft.body !== undefined || body !== undefined) return undefined;
  if (isCut) return t('bench.needsAnother');
  if (isLarge) return t('bench.largeBody', { bytes: bytesText(bodySize) });
  return t('bench.notText', { bytes: bytesText(bodySize) });
}
