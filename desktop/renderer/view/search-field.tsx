import type { JSX } from 'preact';

/** As much as is remembered of it. */
const MOST_CHARS = 200;

/** A search over a list. Escape empties it; only in an empty one it leaves the screen. */
export function SearchField({
  id,
  label,
  placeholder,
  value,
  onChange,
}: {
  id: string;
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <input
      id={id}
      type="search"
      class="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      maxLength={MOST_CHARS}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || value === '') return;
        event.preventDefault();
        onChange('');
      }}
    />
  );
}
