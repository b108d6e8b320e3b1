import type { JSX } from 'preact';

/** Something that is on or off. */
export function Switch({
  id,
  label,
  hint,
  checked,
  onChange,
}: {
  id: string;
  label: string;
  hint: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}): JSX.Element {
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      </div>
      <input
        type="checkbox"
        role="switch"
        class="switch"
        id={id}
        aria-describedby={`${id}-hint`}
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </div>
  );
}

/** One of a few. */
export function Select<T extends string>({
  id,
  label,
  hint,
  choices,
  value,
  onChange,
}: {
  id: string;
  label: string;
  hint?: string;
  choices: Readonly<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} class="hint">
            {hint}
          </p>
        )}
      </div>
      <select
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
      >
        {(Object.entries(choices) as [T, string][]).map(([choice, words]) => (
          <option key={choice} value={choice}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}
