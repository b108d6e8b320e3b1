/** Small parts that several screens are made of. */
import type { ComponentChildren, JSX } from 'preact';
import type { Problem } from '../../shared/snapshot.ts';

/** What happened and what to do, in a box. `alert` if it responds to something the user just did. */
export function Notice({
  kind = 'warning',
  alert = false,
  children,
}: {
  kind?: 'warning' | 'error';
  alert?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice notice-${kind}`} role={alert ? 'alert' : undefined}>
      {children}
    </div>
  );
}

/** The problem with what the user just asked for. */
export function Failure({ problem }: { problem: Pick<Problem, 'text'> | undefined }): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <Notice kind="error" alert>
      {problem.text}
    </Notice>
  );
}

/** A label, its control, and below it the problem or a hint, tied together for screen readers. */
export function Field({
  id,
  label,
  hint,
  problem,
  children,
}: {
  id: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <div id={`${id}-note`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
        {problem ?? hint}
      </div>
    </div>
  );
}

/** Attributes of the control of a {@link Field}. */
export function fieldControl(id: string, problem: string | undefined) {
  return {
    id,
    'aria-describedby': `${id}-note`,
    'aria-invalid': problem === undefined ? undefined : ('true' as const),
  };
}
