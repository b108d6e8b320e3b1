import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../messages/translate.ts';
import {
  draftPort,
  EMPTY_DRAFT,
  type FormDraft,
  type FormField,
  type FormProblems,
  freePorts,
  hasOptions,
  portHint,
  programName,
  readDraft,
  suggestedPorts,
} from '../../model/create-form.ts';
import { useAction, useShell, useWindow } from '../../view/context.ts';
import { useEscape } from '../../view/keyboard.ts';
import { Icon } from '../../view/icons.tsx';
import { Button, described, Failure, Form, Input } from '../../view/kit.tsx';
import { type FormFieldProps, useFormContext } from './domain-field.tsx';
import { Options } from './options.tsx';

/** Ids of the controls, in the order in which problems get the focus. */
const CONTROLS: Readonly<Record<FormField, string>> = {
  port: 'port',
  name: 'name',
  domain: 'domain',
  lock: 'lock-anyone',
  lockDetail: 'lock-detail',
  ttl: 'custom-ttl',
  hostHeader: 'custom-host',
  compress: 'compress',
  upstream: 'upstream',
  headers: 'request-headers',
  responseHeaders: 'response-headers',
  wildcard: 'wildcard',
  idle: 'idle',
};

/** A second press within this time is an accidental double click, unless the user has changed something in between. */
const ECHO_MS = 1000;

/** The main action: a port, and Expose. Everything else is among the options. */
export function CreateBar({
  isPane,
  isHidden,
}: {
  /** whether it is below a list beside another screen */
  isPane: boolean;
  /** whether another screen covers it */
  isHidden: boolean;
}): JSX.Element {
  const { draft, setDraft } = useWindow();
  const context = useFormContext();
  const shell = useShell();
  const create = useAction();
  const [isOpen, setOpen] = useState(hasOptions(draft));
  const [problems, setProblems] = useState<FormProblems>({});
  const [created, setCreated] = useState<string>();
  const exposedAt = useRef(-Infinity);

  // A link or the tray has filled in the form. A layout effect, so that it does not undo a later click of the user.
  useLayoutEffect(() => {
    if (hasOptions(draft)) setOpen(true);
  }, [draft]);
  // Options that are open but unchanged must not cover a tunnel made in another way, such as from a folder.
  const known = useRef(context.tunnels);
  useLayoutEffect(() => {
    const before = new Set(known.current.map(({ key }) => key));
    known.current = context.tunnels;
    if (!hasOptions(draft) && context.tunnels.some(({ key }) => !before.has(key))) setOpen(false);
  }, [context.tunnels]);
  // The snapshot with the new tunnel arrives separately; its address is what users want next.
  useLayoutEffect(() => {
    if (created === undefined) return;
    const next = document.getElementById(`share-${created}`) ?? document.getElementById(`copy-${created}`);
    if (next !== null) next.focus();
    else if (isPane && context.tunnels.some(({ key }) => key === created))
      shell.show(`copy-${created}`, created);
    else return;
    setCreated(undefined);
  }, [created, context.tunnels]);
  const fold = (): void => {
    setOpen(false);
    document.getElementById('options-button')?.focus();
  };
  useEscape(isOpen && !isHidden, fold);

  const change = (changes: Partial<FormDraft>): void => {
    setDraft({ ...draft, ...changes });
    setProblems({});
    create.clear();
  };
  const show = (found: FormProblems): void => {
    setProblems(found);
    const first = (Object.keys(CONTROLS) as FormField[]).find((field) => found[field] !== undefined);
    if (first === undefined) return;
    if (first !== 'port') setOpen(true);
    // The control may be among options that have only now been unfolded.
    requestAnimationFrame(() => document.getElementById(CONTROLS[first])?.focus());
  };
  // The form then suggests the next port, which the user has not chosen.
  const isEcho = (): boolean => draft === EMPTY_DRAFT && performance.now() - exposedAt.current < ECHO_MS;
  const submit = async (): Promise<void> => {
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
      shell.say(t('create.exposed', { port: read.form.port }));
    } else if (isField(answer.error.field)) show({ [answer.error.field]: answer.error.text });
  };

  return (
    <footer class="create" role={isPane ? undefined : 'contentinfo'}>
      <Form class="stack s3" aria-label={t('create.newTunnel')} submit={submit}>
        {isOpen && <Options draft={draft} problems={problems} change={change} />}
        {!isField(create.error?.field) && <Failure problem={create.error} />}
        <div class="problem" id="port-note" role="alert">
          {problems.port}
        </div>
        <div class="create-row line">
          <PortField draft={draft} problem={problems.port} change={change} />
          <Button
            id="options-button"
            aria-label={t('create.options')}
            aria-expanded={isOpen}
            aria-controls="options"
            title={t('create.options')}
            act={() => setOpen(!isOpen)}
          >
            {/* One of both, as there is room. */}
            <span>{t('create.options')}</span>
            <Icon name={isOpen ? 'next' : 'previous'} />
          </Button>
          <Button look="button primary" isBusy={create.isBusy}>
            {t(create.isBusy ? 'create.exposing' : 'create.expose')}
          </Button>
        </div>
      </Form>
    </footer>
  );
}

function isField(field: string | undefined): field is FormField {
  return field !== undefined && Object.hasOwn(CONTROLS, field);
}

/**
 * The port, with suggestions of ports that currently have a listener: a combobox with a list (ARIA Authoring Practices,
 * "Editable combobox with list autocomplete").
 */
function PortField({ draft, problem, change }: FormFieldProps): JSX.Element {
  const context = useFormContext();
  const [isOpen, setOpen] = useState(false);
  // Identified by port, so that a new listener does not change the choice.
  const [chosen, setChosen] = useState<number>();
  const text = draftPort(draft, context);
  const free = freePorts(context.ports, context.tunnels);
  const suggested = suggestedPorts(free, text);
  const active = suggested.findIndex((view) => view.port === chosen);
  const isShown = isOpen && suggested.length > 0;
  const hint = portHint(text, context.ports);

  const field = useRef<HTMLInputElement>(null);
  const taken = useRef<string>(undefined);
  // Once the user is in the field, other listeners no longer change what is suggested there.
  const take = (): void => {
    if (draft.port !== undefined || text === '') return;
    taken.current = text;
    change({ port: text });
  };
  // Nobody chose a suggestion whose server has ended in the meantime.
  const isDead =
    draft.port !== undefined &&
    draft.port === taken.current &&
    !free.some(({ port }) => String(port) === taken.current);
  useLayoutEffect(() => {
    if (!isDead) return;
    taken.current = undefined;
    change({ port: undefined });
  }, [isDead]);
  // The first listener may become known later. It must not be added to what the user types.
  useLayoutEffect(() => {
    if (document.activeElement !== field.current || draft.port !== undefined || text === '') return;
    field.current?.select();
    take();
  }, [text]);
  const close = (): void => {
    setOpen(false);
    setChosen(undefined);
  };
  const choose = (port: number): void => {
    change({ port: String(port) });
    close();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setOpen(true);
      const from = isShown && active >= 0 ? active : step > 0 ? -1 : 0;
      setChosen(suggested.at((from + step) % suggested.length)?.port);
    } else if (event.key === 'Enter' && isShown && chosen !== undefined && active >= 0) choose(chosen);
    else if (event.key === 'Escape' && isShown) close();
    else return;
    event.preventDefault();
  };

  return (
    <div class="port-field">
      <label class="dim cut" for="port">
        {t('port.label')}
      </label>
      <Input
        id="port"
        role="combobox"
        inputMode="numeric"
        maxLength={5}
        placeholder="3000"
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls="ports"
        aria-activedescendant={isShown && active >= 0 ? `port-option-${active}` : undefined}
        {...described('port-note port-hint', problem)}
        value={text}
        change={(port) => {
          change({ port });
          setOpen(true);
          setChosen(undefined);
        }}
        ref={field}
        onFocus={(event) => {
          take();
          event.currentTarget.select();
        }}
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <span id="port-hint" class="port-hint hint cut" title={hint}>
        {hint}
      </span>
      <ul id="ports" class="ports" role="listbox" aria-label={t('port.inUse')} hidden={!isShown}>
        {suggested.map((view, index) => (
          <li
            key={view.port}
            id={`port-option-${index}`}
            class="line"
            role="option"
            aria-selected={index === active}
            // Keeps the focus in the field, because its blur would close the list before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(view.port)}
          >
            <b>{view.port}</b>
            {programName(view) === undefined ? (
              <span>{t('port.unknownProgram')}</span>
            ) : (
              <bdi>{programName(view)}</bdi>
            )}
            {view.framework !== undefined && <bdi class="dim">{view.process}</bdi>}
          </li>
        ))}
      </ul>
    </div>
  );
}
