import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { SHARE_WORDS } from '../../../share/words.ts';
import type { DropView } from '../../../shared/snapshot.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
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
  // Before it shows: a key that is pressed right then must not do what it asks about.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const { id } = drop;
  const close = (): void => {
    if (!share.isBusy) void dismiss.run('folder:dismiss', { id });
  };
  const publish = async (name: string): Promise<void> => {
    if (share.isBusy) return;
    const answer = await share.run('folder:share', { id });
    if (answer.ok) say(`Folder ${name} is shared.`);
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
          <h2 id={TITLE}>
            Share the folder <b>{drop.name}</b>?
          </h2>
          <p>Anyone who has the address can read it for an hour. {SHARE_WORDS}</p>
        </>
      ) : (
        <>
          <h2 id={TITLE}>This cannot be shared</h2>
          <Failure problem={drop.problem} />
        </>
      )}
      <Failure problem={share.error} />
      <div class="dialog-buttons">
        <button ref={cancel} type="button" class="button" aria-disabled={share.isBusy} onClick={close}>
          {drop.state === 'folder' ? 'Cancel' : 'Close'}
        </button>
        {drop.state === 'folder' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={share.isBusy}
            onClick={() => void publish(drop.name)}
          >
            {share.isBusy ? 'Sharing…' : 'Share for 1 h'}
          </button>
        )}
      </div>
    </dialog>
  );
}
