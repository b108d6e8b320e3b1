import type { JSX } from 'preact';
import { useShell } from './context.ts';
import { useAction } from './use-action.ts';
import { useCopied } from './use-copied.ts';

/** Copies a text, and says so. */
export function CopyButton({
  what,
  text,
  label = 'Copy',
}: {
  /** what is copied, after "the" */
  what: string;
  text: () => string;
  /** what stands on it */
  label?: string;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const copy = async (): Promise<void> => {
    const answer = await action.run('text:copy', { text: text() });
    say(answer.ok ? `Copied the ${what}.` : answer.error.text);
    if (answer.ok) setCopied();
  };
  return (
    <button
      type="button"
      class="link copy"
      aria-label={`${isCopied ? 'Copied' : 'Copy'} the ${what}`}
      onClick={() => void copy()}
    >
      {isCopied ? 'Copied' : label}
    </button>
  );
}
