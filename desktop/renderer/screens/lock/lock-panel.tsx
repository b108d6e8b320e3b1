import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { LockKind } from '../../../shared/lock.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { asksFor, isSameLock, type LockDraft, lockDraft, lockWords, readLock } from '../../model/lock.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { Admitted } from './admitted.tsx';
import { Links } from './links.tsx';
import { LockFields } from './lock-fields.tsx';

/** Changes who may come into a live tunnel, and makes links to one that is only for these. */
export function LockPanel({
  tunnel,
  onDone,
}: {
  tunnel: TunnelView;
  onDone: (kind: LockKind) => void;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { key, slug, lock } = tunnel;
  const [draft, setDraft] = useState(() => lockDraft(lock));
  const [problem, setProblem] = useState<string>();
  const id = `lock-form-${key}`;
  const isSame = isSameLock(draft, lock);

  // A lock of several parts cannot be chosen in the form, which then begins with another.
  const shows = (part: 'links' | 'knock'): boolean =>
    asksFor(lock, part) && (lock.kind === 'other' || draft.kind === part);
  const change = (next: LockDraft): void => {
    setDraft(next);
    setProblem(undefined);
    if (action.error !== undefined) action.clear();
  };
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (action.isBusy) return;
    const read = readLock(draft);
    if ('problem' in read) {
      setProblem(read.problem);
      document.getElementById(`${id}-detail`)?.focus();
      return;
    }
    if (!isSame) {
      const answer = await action.run('lock:set', { key, lock: read.lock });
      if (!answer.ok) return;
      say(t('lock.whoNow', { slug, lock: lockWords(read.lock) }));
    }
    // Links are made in this panel, of which more is shown from now on.
    if (read.lock.kind !== 'links') onDone(read.lock.kind);
  };

  return (
    <div class="lock-panel">
      <form
        class="lock-form"
        aria-label={t('lock.whoTo', { slug })}
        noValidate
        onSubmit={(event) => void submit(event)}
      >
        <LockFields
          id={id}
          draft={draft}
          problem={action.error?.field === 'lock' ? action.error.text : undefined}
          detailProblem={problem}
          change={change}
        />
        {action.error?.field !== 'lock' && <Failure problem={action.error} />}
        {!isSame && (
          <div class="lock-apply">
            <span class="hint">{t('lock.atOnce')}</span>
            <button type="submit" class="button primary small" aria-disabled={action.isBusy}>
              {action.isBusy ? t('lock.applying') : t('lock.apply')}
            </button>
          </div>
        )}
      </form>
      {shows('links') && <Links tunnel={tunnel} />}
      {shows('knock') && <Admitted tunnel={tunnel} />}
    </div>
  );
}
