import type { FormContext, FormDraft } from '../../model/create-form.ts';

/** What a field of the create form gets. */
export interface FormFieldProps {
  readonly context: FormContext;
  readonly draft: FormDraft;
  /** what is wrong with what was sent, until it is changed */
  readonly problem: string | undefined;
  readonly change: (changes: Partial<FormDraft>) => void;
}
