import type { JSX } from 'preact';
import { draftNameProblem } from '../../model/create-form.ts';
import { NAME_HINT, tidyName } from '../../model/name-rules.ts';
import { capitalised } from '../../model/numbers.ts';
import { Field, fieldControl } from '../../view/parts.tsx';
import type { FormFieldProps } from './form-field.ts';

/** The name, checked as it is typed; what the relay says, such as that it is taken, is shown in the same place. */
export function NameField({ context, draft, problem, change }: FormFieldProps): JSX.Element {
  const { allowsNames, nameDomain, plan } = context.account;
  if (!allowsNames) {
    return (
      <p class="hint">
        Your tunnels get random names: choosing one needs the Dev plan or above, and yours is{' '}
        {capitalised(plan)}.
      </p>
    );
  }
  const shown = problem ?? draftNameProblem(draft, context);
  // The domain is known from the first tunnel on.
  const address = nameDomain === '' ? `${draft.name} is a good name.` : `${draft.name}.${nameDomain}`;
  const hint = draft.name === '' ? `Optional: ${NAME_HINT}. Empty for a random one.` : address;
  return (
    <Field id="name" label="Name" hint={hint} problem={shown}>
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
