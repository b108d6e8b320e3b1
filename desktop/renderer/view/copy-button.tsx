import type { JSX } from 'preact';
import { t, type TextValues } from '../../i18n/translate.ts';
import { useShell } from './context.ts';
import { useAction } from './use-action.ts';
import { useCopied } from './use-copied.ts';

/** What can be copied; messages choose the words by its kind. */
export interface CopiedThing extends TextValues {
  readonly kind:
    'requestHeaders' | 'responseHeaders' | 'header' | 'jsonValue' | 'jsonPath' | 'recordName' | 'recordValue';
  readonly name: string;
}

/** Copies a text, and says so. */
export function CopyButton({
  what,
  text,
  label = t('common.copy'),
}: {
  /** what is copied, and its name where there are several */
  what: CopiedThing;
  text: () => string;
  /** what stands on it */
  label?: string;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const copy = async (): Promise<void> => {
    const answer = await action.run('text:copy', { text: text() });
    say(answer.ok ? t('common.copiedThing', what) : answer.error.text);
    if (answer.ok) setCopied();
  };
  return (
    <button
      type="button"
      class="link copy"
      aria-label={t(isCopied ? 'common.isCopiedThing' : 'common.copyThing', what)}
      onClick={() => void copy()}
    >
      {isCopied ? t('common.copied') : label}
    </button>
  );
}
