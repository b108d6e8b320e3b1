import type { JSX } from 'preact';
import { t } from '../../../messages/translate.ts';
import {
  draftNameProblem,
  type FormContext,
  type FormDraft,
  NAME_LENGTHS,
  tidyName,
} from '../../model/create-form.ts';
import { capitalised } from '../../model/numbers.ts';
import { Field, fieldControl } from '../../view/controls.tsx';

/** The name, checked while it is typed. Errors of the relay, such as a taken name, are shown in the same place. */
export function NameField({ context, draft, problem, change }: FormFieldProps): JSX.Element {
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
      <input
        {...fieldControl('name', shown)}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        value={draft.name}
        onInput={(event) => change({ name: tidyName(event.currentTarget.value) })}
      />
    </Field>
  );
}

/** Properties of the fields in the create form. */
export interface FormFieldProps {
  readonly context: FormContext;
  readonly draft: FormDraft;
  /** the problem of the sent value, until it is changed */
  readonly problem: string | undefined;
  readonly change: (changes: Partial<FormDraft>) => void;
}
