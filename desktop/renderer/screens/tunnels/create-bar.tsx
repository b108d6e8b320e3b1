import type { JSX, TargetedEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import {
  EMPTY_DRAFT,
  type FormContext,
  type FormDraft,
  type FormField,
  type FormProblems,
  hasOptions,
  readDraft,
} from '../../model/create-form.ts';
import { useShell } from '../../view/context.ts';
import { useEscape } from '../../view/keys.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { Options } from './options.tsx';
import { PortField } from './port-field.tsx';

/** Ids of the controls, in the order in which a problem gets the focus. */
const CONTROLS: Readonly<Record<FormField, string>> = {
  port: 'port',
  name: 'name',
  domain: 'domain',
  lock: 'lock-anyone',
  lockDetail: 'lock-detail',
  ttl: 'custom-ttl',
  hostHeader: 'custom-host',
  idle: 'idle',
};

/** A press so soon after another is its echo, unless something was entered in between. */
const ECHO_MS = 1000;

/** The one action: a port, and Expose; everything else is among the options. */
export function CreateBar({
  context,
  draft,
  setDraft,
}: {
  context: FormContext;
  draft: FormDraft;
  setDraft: (draft: FormDraft) => void;
}): JSX.Element {
  const { say } = useShell();
  const create = useAction();
  const [isOpen, setOpen] = useState(hasOptions(draft));
  const [problems, setProblems] = useState<FormProblems>({});
  const [created, setCreated] = useState<string>();
  const exposedAt = useRef(-Infinity);

  // A link or the tray has filled in the form. Not a moment later: by then somebody may have folded the options.
  useLayoutEffect(() => {
    if (hasOptions(draft)) setOpen(true);
  }, [draft]);
  // The new tunnel comes with a snapshot of its own; the next thing people want is its address.
  useLayoutEffect(() => {
    if (created === undefined) return;
    const next = document.getElementById(`share-${created}`) ?? document.getElementById(`copy-${created}`);
    if (next === null) return;
    next.focus();
    setCreated(undefined);
  }, [created, context.tunnels]);
  const fold = (): void => {
    setOpen(false);
    document.getElementById('options-button')?.focus();
  };
  useEscape(isOpen, fold);

  const change = (changes: Partial<FormDraft>): void => {
    setDraft({ ...draft, ...changes });
    setProblems({});
    if (create.error !== undefined) create.clear();
  };
  const show = (found: FormProblems): void => {
    setProblems(found);
    const first = (Object.keys(CONTROLS) as FormField[]).find((field) => found[field] !== undefined);
    if (first === undefined) return;
    if (first !== 'port') setOpen(true);
    // The control may be among options that only now unfold.
    requestAnimationFrame(() => document.getElementById(CONTROLS[first])?.focus());
  };
  // The form suggests the next port by then, which nobody has chosen.
  const isEcho = (): boolean => draft === EMPTY_DRAFT && performance.now() - exposedAt.current < ECHO_MS;
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (create.isBusy || isEcho()) return;
    const read = readDraft(draft, context);
    if ('problems' in read) {
      show(read.problems);
      return;
    }
    setProblems({});
    const answer = await create.run('tunnel:create', read.form);
    if (answer.ok) {
      exposedAt.current = performance.now();
      setDraft(EMPTY_DRAFT);
      setOpen(false);
      setCreated(answer.value.key);
      say(t('create.exposed', { port: read.form.port }));
    } else if (isField(answer.error.field)) show({ [answer.error.field]: answer.error.text });
  };

  return (
    <footer class="create">
      <form aria-label={t('create.newTunnel')} noValidate onSubmit={(event) => void submit(event)}>
        {isOpen && <Options context={context} draft={draft} problems={problems} change={change} />}
        {!isField(create.error?.field) && <Failure problem={create.error} />}
        <div class="problem" id="port-note" role="alert">
          {problems.port}
        </div>
        <div class="create-row">
          <PortField context={context} draft={draft} problem={problems.port} change={change} />
          <button
            type="button"
            id="options-button"
            class="button"
            aria-expanded={isOpen}
            aria-controls="options"
            onClick={() => setOpen(!isOpen)}
          >
            {t('create.options')}
          </button>
          <button type="submit" class="button primary" aria-disabled={create.isBusy}>
            {create.isBusy ? t('create.exposing') : t('create.expose')}
          </button>
        </div>
      </form>
    </footer>
  );
}

function isField(field: string | undefined): field is FormField {
  return field !== undefined && Object.hasOwn(CONTROLS, field);
}
