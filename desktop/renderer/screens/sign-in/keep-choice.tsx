import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { KeyKept } from '../../../shared/snapshot.ts';
import { keepWords } from '../../model/sign-in.ts';

/** Where the key is stored, with what each choice means. */
export function KeepChoice({
  keeps,
  value,
  onChange,
}: {
  keeps: readonly KeyKept[];
  value: KeyKept;
  onChange: (keep: KeyKept) => void;
}): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>{t('signIn.keepKey')}</legend>
      {!keeps.includes('system') && <p class="hint">{t('signIn.notEncrypted')}</p>}
      {keeps.map((keep) => (
        <label key={keep} class="choice">
          <input type="radio" name="keep" checked={keep === value} onChange={() => onChange(keep)} />
          <span>
            {keepWords(keep).label}
            <span class="hint">{keepWords(keep).hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
