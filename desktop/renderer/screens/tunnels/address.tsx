import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { addressParts } from '../../model/address.ts';
import { useShell } from '../../view/context.ts';
import { useCopied } from '../../view/use-copied.ts';
import type { Action } from '../../view/use-action.ts';

/** The address with its significant part in bold, and a button that copies all of it. */
export function Address({
  id,
  tunnel,
  canCopy,
  run,
}: {
  id: string;
  tunnel: Pick<TunnelView, 'key' | 'slug' | 'url'>;
  /** whether there is any use in copying it */
  canCopy: boolean;
  run: Action['run'];
}): JSX.Element {
  const { say } = useShell();
  const { isCopied, setCopied } = useCopied();
  const { before, slug, after } = addressParts(tunnel.url, tunnel.slug);

  const copy = async (): Promise<void> => {
    const answer = await run('tunnel:copy-url', { key: tunnel.key });
    if (!answer.ok) return;
    setCopied();
    say(t('address.copied'));
  };

  return (
    <>
      <h2 id={id} class="address" dir="ltr" title={tunnel.url}>
        {before !== '' && <span class="dim">{before}</span>}
        <b>{slug}</b>
        {after !== '' && <span class="dim">{after}</span>}
      </h2>
      {canCopy && (
        <button
          type="button"
          id={`copy-${tunnel.key}`}
          class="button copy"
          // The accessible name contains the visible word (WCAG 2.5.3).
          aria-label={t(isCopied ? 'address.isCopiedOf' : 'address.copyOf', { slug: tunnel.slug })}
          onClick={() => void copy()}
        >
          {isCopied ? t('common.copied') : t('common.copy')}
        </button>
      )}
    </>
  );
}
