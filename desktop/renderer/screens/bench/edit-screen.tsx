import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { EditView } from '../../../shared/bench.ts';
import type { CallError } from '../../../shared/ipc.ts';
import { draftOf, type EditDraft, formOf } from '../../model/bench/edit-draft.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { Screen } from '../../view/screen.tsx';
import { Answers } from './answers.tsx';
import { RequestForm } from './request-form.tsx';
import { useSender } from './use-sender.ts';

/** Drafts that are kept while the window is open, so that a step back loses nothing. */
const DRAFTS_MAX = 20;
const drafts = new Map<string, EditDraft>();

/** A request as fields, to be sent once more, and what came back beside what had come before. */
export function EditScreen({ tunnelKey, id }: { tunnelKey: string; id: number }): JSX.Element {
  const { view, error } = useEditView(tunnelKey, id);
  return (
    <Screen title={t('bench.editRequest', { id })}>
      <Failure problem={error} />
      {view !== undefined && <Editing tunnelKey={tunnelKey} id={id} view={view} />}
    </Screen>
  );
}

function Editing({ tunnelKey, id, view }: { tunnelKey: string; id: number; view: EditView }): JSX.Element {
  const draftId = `${tunnelKey} ${id}`;
  const [draft, setDraft] = useState(() => drafts.get(draftId) ?? draftOf(view));
  const sender = useSender(tunnelKey, id);
  // Not a moment later: by then the screen may have been left.
  useLayoutEffect(() => keep(draftId, draft), [draftId, draft]);
  const { problems, error } = sender;
  useLayoutEffect(() => {
    if (problems.length > 0) document.querySelector<HTMLElement>('.edit [aria-invalid]')?.focus();
  }, [problems]);
  return (
    <>
      <RequestForm
        view={view}
        draft={draft}
        setDraft={setDraft}
        problems={problems}
        sender={sender}
        onSend={() => sender.send(formOf(draft, view))}
        onUntil={() => sender.sendUntilOk(formOf(draft, view))}
        onReset={() => setDraft(draftOf(view))}
      />
      <Failure problem={error} />
      {sender.sent !== undefined && <Answers tunnelKey={tunnelKey} before={id} after={sender.sent} />}
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
