import type { JSX } from 'preact';
import { t } from '../../i18n/translate.ts';

/** A word that does something with one thing of several; its name for screen readers says with which. */
export function ActionLink({
  id,
  label,
  of,
  expanded,
  apart = false,
  onClick,
}: {
  id?: string;
  label: string;
  of: string;
  expanded?: boolean;
  /** whether it stands apart, because it ends something */
  apart?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button
      type="button"
      id={id}
      class={apart ? 'link apart' : 'link'}
      aria-label={t('tunnels.actionOf', { action: label, slug: of })}
      aria-expanded={expanded}
      onClick={onClick}
    >
      {label}
    </button>
  );
}
