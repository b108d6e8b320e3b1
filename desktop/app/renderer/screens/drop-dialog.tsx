import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { DropView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge } from '../bridge.ts';
import { useShell } from '../view/context.ts';
import { Failure } from '../view/controls.tsx';
import { useModal } from '../view/focus.ts';
import { Icon } from '../view/icons.tsx';
import { rich } from '../view/rich.tsx';
import { useAction } from '../view/use-action.ts';

const TITLE = 'drop-title';

/** Asks whether to share a dropped folder, to prevent mistakes: Enter and Esc share nothing. */
export function DropDialog({ drop }: { drop: DropView }): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const cancel = useRef<HTMLButtonElement>(null);
  const share = useAction();
  const dismiss = useAction();
  const open = useAction();
  // A layout effect, so that a key pressed now cannot confirm.
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

/** Covers the window while something is dragged over it, and describes what dropping it does. */
export function DropHere(): JSX.Element {
  return (
    <div class="drop-here" aria-hidden="true">
      <p>
        <Icon name="folder" /> {t('drop.here')}
      </p>
    </div>
  );
}

/**
 * Accepts files that are dropped anywhere on the window, and passes them to main.
 *
 * @returns whether something that can be dropped is being dragged over the window
 */
export function useDrops(bridge: Bridge): boolean {
  const [isOver, setOver] = useState(false);
  // A layout effect, because effects run a frame later and would miss drags until then.
  useLayoutEffect(() => {
    if (bridge.drop === undefined) return;
    const offer = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      // Moving between parts of the window does not leave it.
      if (event.relatedTarget === null) setOver(false);
    };
    const take = (event: DragEvent): void => {
      setOver(false);
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      // The next snapshot describes problems.
      bridge.drop?.([...event.dataTransfer.files]).catch(() => undefined);
    };
    addEventListener('dragover', offer);
    addEventListener('dragleave', leave);
    addEventListener('drop', take);
    return () => {
      removeEventListener('dragover', offer);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', take);
    };
  }, [bridge]);
  return isOver;
}
