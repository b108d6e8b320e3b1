import type { JSX } from 'preact';

/** A word that does something with a tunnel; its name for screen readers says which tunnel. */
export function ActionLink({
  id,
  label,
  of,
  expanded,
  onClick,
}: {
  id?: string;
  label: string;
  of: string;
  expanded?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button
      type="button"
      id={id}
      class="link"
      aria-label={`${label} ${of}`}
      aria-expanded={expanded}
      onClick={onClick}
    >
      {label}
    </button>
  );
}
