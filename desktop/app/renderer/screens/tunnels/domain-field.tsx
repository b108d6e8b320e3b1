import type { JSX } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { CheckedDomainView, DomainView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { domainLabel, NEW_DOMAIN, withDomain } from '../../model/address.ts';
import {
  draftNameProblem,
  type FormContext,
  type FormDraft,
  NAME_LENGTHS,
  tidyName,
} from '../../model/create-form.ts';
import { capitalised } from '../../model/numbers.ts';
import { UndoContext, useAction, useShell, useWindow } from '../../view/context.ts';
import { type CopiedThing, CopyButton } from '../../view/controls.tsx';
import { Button, Failed, Failure, Field, Input } from '../../view/kit.tsx';
import { useLoaded } from '../../view/use-loaded.ts';

/** A custom domain: one of the account's, or a new one. */
export function DomainField({ draft, problem, change }: FormFieldProps): JSX.Element {
  const { plan } = useFormContext().account;
  const isAllowed = plan !== 'free';
  // Undoing a removal restores a domain.
  const list = useLoaded('domain:list', undefined, {
    isOn: isAllowed,
    again: useContext(UndoContext).length,
  });
  if (!isAllowed) return <p class="hint">{t('domain.needsPlan', { plan: capitalised(plan) })}</p>;
  const { value: domains = [] } = list;
  const { choice } = draft.domain;
  const chosen = domains.find(({ domain }) => domain === choice);
  const choose = (next: string, known = domains): void => {
    const isVerified = known.find(({ domain }) => domain === next)?.status === 'verified';
    change({ domain: { choice: next, isVerified } });
  };
  const show = (changed: DomainView): void => {
    const next = withDomain(domains, changed);
    list.set(() => [...next]);
    choose(changed.domain, next);
  };
  return (
    <>
      <Failed of={list} />
      <Field id="domain" label={t('domain.label')} hint={t('domain.hint')} problem={problem}>
        <select value={choice} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{t('domain.none')}</option>
          {domains.map((domain) => (
            <option
              key={domain.id}
              value={domain.domain}
              dir={domain.status === 'verified' ? 'ltr' : undefined}
            >
              {domainLabel(domain)}
            </option>
          ))}
          <option value={NEW_DOMAIN}>{t('domain.addOne')}</option>
        </select>
      </Field>
      {chosen !== undefined && <RemoveDomain domain={chosen} onRemoved={() => choose('')} />}
      {choice === NEW_DOMAIN && <NewDomain onAdded={show} />}
      {chosen?.status === 'pending' && <DomainSetup key={chosen.id} domain={chosen} onChecked={show} />}
    </>
  );
}

function RemoveDomain({
  domain: { id, domain },
  onRemoved,
}: {
  domain: DomainView;
  onRemoved: () => void;
}): JSX.Element {
  const remove = useAction();
  const submit = async (): Promise<void> => {
    const answer = await remove.run('domain:remove', { id }, t('domain.removedSoon', { domain }));
    if (!answer.ok) return;
    onRemoved();
    // This control disappears, but the choice stays.
    document.getElementById('domain')?.focus();
  };
  return (
    <div>
      <Button look="link" aria-label={t('domain.removeOf', { domain })} isBusy={remove.isBusy} act={submit}>
        {t('domain.remove')}
      </Button>
      <Failure problem={remove.error} />
    </div>
  );
}

function NewDomain({ onAdded }: { onAdded: (domain: DomainView) => void }): JSX.Element {
  const add = useAction();
  const [text, setText] = useState('');
  const submit = async (): Promise<void> => {
    if (add.isBusy) return;
    const answer = await add.run('domain:add', { domain: text.trim() }, ({ domain, status }) =>
      t(status === 'verified' ? 'domain.verified' : 'domain.added', { domain }),
    );
    if (!answer.ok) {
      document.getElementById('new-domain')?.focus();
      return;
    }
    onAdded(answer.value);
  };
  return (
    <Field
      id="new-domain"
      label={t('domain.domain')}
      hint={t('domain.example')}
      problem={add.error?.text}
      beside={
        <Button isBusy={add.isBusy} act={submit}>
          {t(add.isBusy ? 'domain.adding' : 'domain.add')}
        </Button>
      }
    >
      <Input
        value={text}
        change={(typed) => {
          setText(typed);
          add.clear();
        }}
        onKeyDown={(event) => {
          // Otherwise Enter would expose the port.
          if (event.key !== 'Enter') return;
          event.preventDefault();
          void submit();
        }}
      />
    </Field>
  );
}

/** The DNS records of a domain that the user has to create, and whether they exist. */
function DomainSetup({
  domain,
  onChecked,
}: {
  domain: DomainView;
  onChecked: (domain: DomainView) => void;
}): JSX.Element {
  const { say } = useShell();
  const check = useAction();
  const [problems, setProblems] = useState<CheckedDomainView['problems']>([]);
  const look = async (): Promise<void> => {
    const answer = await check.run('domain:check', { id: domain.id });
    if (!answer.ok) return;
    setProblems(answer.value.problems);
    onChecked(answer.value);
    if (answer.value.status !== 'verified') return;
    say(t('domain.verified', { domain: domain.domain }));
    // This control disappears, but the choice stays.
    document.getElementById('domain')?.focus();
  };
  return (
    <div
      class="domain-setup stack"
      role="group"
      aria-label={t('domain.recordsOf', { domain: domain.domain })}
    >
      <p class="hint">{t('domain.enterRecords', { domain: domain.domain })}</p>
      <ul class="stack">
        {domain.records.map(({ type, name, value }) => (
          <li key={type + value}>
            <span class="strong" translate={false}>
              {type}
            </span>
            <Copied what={{ kind: 'recordName', name: type }} text={name} />
            <Copied what={{ kind: 'recordValue', name: type }} text={value} />
          </li>
        ))}
      </ul>
      <Button isBusy={check.isBusy} act={look}>
        {t(check.isBusy ? 'domain.checking' : 'domain.check')}
      </Button>
      <Failure problem={check.error} />
      <div role="status">
        {problems.length > 0 && (
          <ul class="problem">
            {problems.map(({ text, found }) => (
              <li key={text}>
                {text}
                {found.length > 0 && ` ${t('domain.found', { found: found.join(', ') })}`}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

/** A text for use elsewhere, with a button to copy it. */
function Copied({ what, text }: { what: CopiedThing; text: string }): JSX.Element {
  return (
    <span class="line split">
      <code class="grow copied-by-hand">{text}</code>
      <CopyButton what={what} text={() => text} />
    </span>
  );
}

/** The name, checked while it is typed. Errors of the relay, such as a taken name, are shown in the same place. */
export function NameField({ draft, problem, change }: FormFieldProps): JSX.Element {
  const context = useFormContext();
  const { allowsNames, nameDomain, plan } = context.account;
  if (!allowsNames) {
    return <p class="hint">{t('name.needsPlan', { plan: capitalised(plan) })}</p>;
  }
  const shown = problem ?? draftNameProblem(draft, context);
  // The relay's domain is known from the first tunnel on.
  const address =
    nameDomain === '' ? (
      t('name.good', { name: draft.name })
    ) : (
      <span dir="ltr">
        {draft.name}.{nameDomain}
      </span>
    );
  const hint = draft.name === '' ? t('name.hint', NAME_LENGTHS) : address;
  return (
    <Field id="name" label={t('name.label')} hint={hint} problem={shown}>
      <Input value={draft.name} change={(name) => change({ name: tidyName(name) })} />
    </Field>
  );
}

/** What the create form is validated against. */
export function useFormContext(): FormContext {
  const { snapshot, session } = useWindow();
  return { account: session.account, ports: snapshot.ports, tunnels: snapshot.tunnels };
}

/** Properties of the fields in the create form. */
export interface FormFieldProps {
  readonly draft: FormDraft;
  /** the problem of the sent value, until it is changed */
  readonly problem: string | undefined;
  readonly change: (changes: Partial<FormDraft>) => void;
}
