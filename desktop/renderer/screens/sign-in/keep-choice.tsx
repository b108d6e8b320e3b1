import type { JSX } from 'preact';
import type { KeyKept } from '../../../shared/snapshot.ts';
import { KEEP_WORDS } from '../../model/sign-in.ts';

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
      <legend>Keep the key</legend>
      {!keeps.includes('system') && (
        <p class="hint">
          This system cannot store it encrypted, so it is not stored unless you ask for that.
        </p>
      )}
      {keeps.map((keep) => (
        <label key={keep} class="choice">
          <input type="radio" name="keep" checked={keep === value} onChange={() => onChange(keep)} />
          <span>
            {KEEP_WORDS[keep].label}
            <span class="hint">{KEEP_WORDS[keep].hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
