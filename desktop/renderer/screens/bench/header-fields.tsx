import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { changeHeader, type EditDraft, withoutHeader } from '../../model/bench/edit-draft.ts';

/** A name and a value for each header, and what is wrong with them. */
export function HeaderFields({
  draft,
  setDraft,
  problemOf,
}: {
  draft: EditDraft;
  setDraft: (draft: EditDraft) => void;
  problemOf: (part: string) => string | undefined;
}): JSX.Element {
  return (
    <ul class="header-fields">
      {draft.headers.map(({ key, name, value }, index) => {
        const problems = {
          name: problemOf(`fields.${index}.name`),
          value: problemOf(`fields.${index}.value`),
        };
        const note = `edit-header-${key}-note`;
        const control = (part: 'name' | 'value', text: string): JSX.Element => (
          <input
            id={`edit-header-${key}-${part}`}
            class="mono"
            aria-label={
              part === 'name'
                ? t('bench.headerName', { place: index + 1 })
                : name === ''
                  ? t('bench.headerValueAt', { place: index + 1 })
                  : t('bench.headerValue', { name })
            }
            aria-describedby={note}
            aria-invalid={problems[part] === undefined ? undefined : 'true'}
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => setDraft(changeHeader(draft, key, { [part]: event.currentTarget.value }))}
          />
        );
        return (
          <li key={key}>
            {control('name', name)}
            {control('value', value)}
            <button
              type="button"
              class="link"
              aria-label={
                name === ''
                  ? t('bench.removeHeaderAt', { place: index + 1 })
                  : t('bench.removeHeader', { name })
              }
              onClick={() => setDraft(withoutHeader(draft, key))}
            >
              {t('bench.remove')}
            </button>
            <div id={note} class="problem" aria-live="polite">
              {problems.name ?? problems.value}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
