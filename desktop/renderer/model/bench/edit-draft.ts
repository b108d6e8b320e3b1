/** What is typed of a request that is edited. */
import type { EditForm, EditView } from '../../../shared/bench.ts';

export interface HeaderDraft {
  /** stays the same while others come and go */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

export interface EditDraft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderDraft[];
  /** `undefined`: the one that was recorded */
  readonly body: string | undefined;
  /** whether it gets a new signature, where it can have one */
  readonly signs: boolean;
}

export function draftOf({ method, target, fields, signer }: EditView): EditDraft {
  const headers = fields.map(([name, value], key) => ({ key, name, value }));
  // The signature that it came with fits neither another body nor another day.
  return { method, target, headers, body: undefined, signs: signer !== undefined };
}

export function withHeader(draft: EditDraft): EditDraft {
  const key = Math.max(-1, ...draft.headers.map((header) => header.key)) + 1;
  return { ...draft, headers: [...draft.headers, { key, name: '', value: '' }] };
}

export function changeHeader(draft: EditDraft, key: number, change: Partial<HeaderDraft>): EditDraft {
  const headers = draft.headers.map((header) => (header.key === key ? { ...header, ...change } : header));
  return { ...draft, headers };
}

export function withoutHeader(draft: EditDraft, key: number): EditDraft {
  return { ...draft, headers: draft.headers.filter((header) => header.key !== key) };
}

/** As it is sent. A text field knows line feeds only: where lines ended with CR and LF, they do again. */
export function formOf({ method, target, headers, body, signs }: EditDraft, view: EditView): EditForm {
  const hadCrlf = view.body !== undefined && /\r\n/.test(view.body) && !/[^\r]\n/.test(view.body);
  return {
    method: method.trim(),
    target: target.trim(),
    fields: headers.map(({ name, value }) => [name.trim(), value]),
    body: body === undefined ? null : hadCrlf ? body.replaceAll(/\r?\n/g, '\r\n') : body,
    signs: signs && view.signer !== undefined,
  };
}
