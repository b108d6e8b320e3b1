import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { draftNameProblem } from '../../model/create-form.ts';
import { NAME_LENGTHS, tidyName } from '../../model/name-rules.ts';
import { capitalised } from '../../model/numbers.ts';
import { Field, fieldControl } from '../../view/parts.tsx';
import type { FormFieldProps } from './form-field.ts';

/** The name, checked as it is typed; what the relay says, such as that it is taken, is shown in the same place. */
export function NameField({ context, draft, problem, change }: FormFieldProps): JSX.Element {
  const { allowsNames, nameDomain, plan } = context.account;
  if (!allowsNames) {
    return <p class="hint">{t('name.needsPlan', { plan: capitalised(plan) })}</p>;
  }
  const shown = problem ?? draftNameProblem(draft, context);
  // The domain is known from the first tunnel on.
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
