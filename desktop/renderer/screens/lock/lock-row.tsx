import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { asksFor, lockLine, lockWords } from '../../model/lock.ts';
import { useShell } from '../../view/context.ts';
import { useCopied } from '../../view/use-copied.ts';
import { Icon } from '../../view/icons.tsx';
import type { Action } from '../../view/use-action.ts';

/** The lock of a card: shows whether the tunnel is open to everybody, and unfolds who may come in. */
export function LockButton({
  tunnel: { key, slug, lock },
  isOpen,
  onClick,
}: {
  tunnel: TunnelView;
  /** whether the panel with the lock is unfolded */
  isOpen: boolean;
  onClick: () => void;
}): JSX.Element {
  const isLocked = lock.kind !== 'anyone';
  return (
    <button
      type="button"
      id={`lock-${key}`}
      class={`icon-button lock-button ${isLocked ? 'locked' : ''}`}
      aria-label={t('lock.whoToIs', { slug, lock: lockWords(lock) })}
      aria-expanded={isOpen}
      title={t('lock.whoIs', { lock: lockWords(lock) })}
      onClick={onClick}
    >
      <Icon name={isLocked ? 'locked' : 'unlocked'} />
    </button>
  );
}

/** Who may come into a tunnel that is not open to everybody, and what to send to those. */
export function LockRow({
  tunnel,
  isOpen,
  onOpen,
  run,
}: {
  tunnel: TunnelView;
  isOpen: boolean;
  onOpen: () => void;
  run: Action['run'];
}): JSX.Element | null {
  const { lock, key, slug } = tunnel;
  if (lock.kind === 'anyone') return null;
  const { label, value } = lockLine(lock);
  // One of them is enough to come in.
  const hasPassword = 'password' in lock && lock.password !== undefined;
  return (
    <div class="lock-row">
      <span class="lock-line">
        {label}
        {value !== '' && <b dir="ltr"> {value}</b>}
      </span>
      {hasPassword && <CopyShare tunnel={tunnel} run={run} />}
      {asksFor(lock, 'links') && !hasPassword && (
        <button
          type="button"
          id={`share-${key}`}
          class="link"
          aria-label={t('lock.makeLinkTo', { slug })}
          aria-expanded={isOpen}
          onClick={onOpen}
        >
          {t('lock.makeLink')}
        </button>
      )}
    </div>
  );
}

/** Copies what lets people in: one sentence with the address and the password. */
function CopyShare({ tunnel: { key, slug }, run }: { tunnel: TunnelView; run: Action['run'] }): JSX.Element {
  const { say } = useShell();
  const { isCopied, setCopied } = useCopied();
  const copy = async (): Promise<void> => {
    const answer = await run('tunnel:copy-share', { key });
    if (!answer.ok) return;
    setCopied();
    say(t('lock.copiedBoth'));
  };
  return (
    <button
      type="button"
      id={`share-${key}`}
      class="link"
      aria-label={t(isCopied ? 'lock.isCopiedBothOf' : 'lock.copyBothOf', { slug })}
      onClick={() => void copy()}
    >
      {isCopied ? t('common.copied') : t('lock.copyBoth')}
    </button>
  );
}
