import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { DropView } from '../../../shared/snapshot.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { rich } from '../../view/rich.tsx';
import { useAction } from '../../view/use-action.ts';
import { useModal } from '../../view/use-modal.ts';

const TITLE = 'drop-title';

/** Asks whether a folder that was dropped shall be shared, so that nobody does it by mistake: Enter and Esc share nothing. */
export function DropDialog({ drop }: { drop: DropView }): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const share = useAction();
  const dismiss = useAction();
  const open = useAction();
  // Before it shows: a key that is pressed right then must not do what it asks about.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const { id } = drop;
  const close = (): void => {
    if (!share.isBusy) void dismiss.run('folder:dismiss', { id });
  };
  const publish = async (name: string): Promise<void> => {
    if (share.isBusy) return;
    const answer = await share.run('folder:share', { id });
    if (answer.ok) say(t('drop.shared', { name }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      {drop.state === 'folder' ? (
        <>
          <h2 id={TITLE}>{rich('drop.question', { name: drop.name })}</h2>
          <p>{t('drop.explained')}</p>
          {drop.isProject && <p>{t('drop.isProject')}</p>}
        </>
      ) : (
        <>
          <h2 id={TITLE}>{t('drop.cannot')}</h2>
          <Failure problem={drop.problem} />
        </>
      )}
      <Failure problem={share.error ?? open.error} />
      <div class="dialog-buttons">
        <button ref={cancel} type="button" class="button" aria-disabled={share.isBusy} onClick={close}>
          {t(drop.state === 'folder' ? 'common.cancel' : 'common.close')}
        </button>
        {drop.state === 'folder' && drop.isProject && (
          <button
            type="button"
            class="button"
            aria-disabled={share.isBusy}
            onClick={() => void (share.isBusy || open.run('project:open', { id }))}
          >
            {t('drop.openProject')}
          </button>
        )}
        {drop.state === 'folder' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={share.isBusy}
            onClick={() => void publish(drop.name)}
          >
            {t(share.isBusy ? 'drop.sharing' : 'drop.share')}
          </button>
        )}
      </div>
    </dialog>
  );
}
