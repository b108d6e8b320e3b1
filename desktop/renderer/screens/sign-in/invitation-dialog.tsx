import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { InvitationView, KeyKept } from '../../../shared/snapshot.ts';
import { hostOf } from '../../model/invitation.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { useModal } from '../../view/use-modal.ts';
import { KeepChoice } from './keep-choice.tsx';
import { rich } from '../../view/rich.tsx';

const TITLE = 'invitation-title';

/**
 * Asks whether an invitation shall be taken: any page can open one, so nothing happens before, and Enter takes nothing.
 *
 * @param leaving what happens to whoever is signed in
 */
export function InvitationDialog({
  invitation,
  leaving,
}: {
  invitation: InvitationView;
  leaving: string | undefined;
}): JSX.Element {
  const { say } = useShell();
  const dialog = useModal();
  const notNow = useRef<HTMLButtonElement>(null);
  const [keep, setKeep] = useState<KeyKept>();
  const accept = useAction();
  const dismiss = useAction();
  // Before it shows: a key that is pressed right then must not do what it asks about.
  useLayoutEffect(() => notNow.current?.focus(), []);
  const { id, relay } = invitation;
  const close = (): void => {
    if (!accept.isBusy) void dismiss.run('invitation:dismiss', { id });
  };
  const take = async (kept: KeyKept): Promise<void> => {
    if (accept.isBusy) return;
    const answer = await accept.run('invitation:accept', { id, keep: kept });
    if (answer.ok) say(t('invitation.signedInTo', { host: hostOf(relay) }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  const keeps = invitation.state === 'open' ? invitation.keeps : [];
  const kept = keep ?? keeps[0] ?? 'session';
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      <Question invitation={invitation} />
      {leaving !== undefined && <p>{leaving}</p>}
      {keeps.length > 0 && <KeepChoice keeps={keeps} value={kept} onChange={setKeep} />}
      <Failure problem={accept.error} />
      <div class="dialog-buttons">
        <button ref={notNow} type="button" class="button" aria-disabled={accept.isBusy} onClick={close}>
          {invitation.state === 'failed' ? t('common.close') : t('invitation.notNow')}
        </button>
        {invitation.state === 'open' && (
          <button
            type="button"
            class="button primary"
            aria-disabled={accept.isBusy}
            onClick={() => void take(kept)}
          >
            {accept.isBusy ? t('signIn.signingIn') : t('signIn.signIn')}
          </button>
        )}
      </div>
    </dialog>
  );
}

function Question({ invitation }: { invitation: InvitationView }): JSX.Element {
  const host = hostOf(invitation.relay);
  switch (invitation.state) {
    case 'looking':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.to', { host })}</h2>
          <p role="status">{t('invitation.asking')}</p>
        </>
      );
    case 'open':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.signInTo', { host, account: invitation.account })}</h2>
          <p>{t('invitation.explained')}</p>
        </>
      );
    case 'failed':
      return (
        <>
          <h2 id={TITLE}>{rich('invitation.to', { host })}</h2>
          <Failure problem={invitation.problem} />
        </>
      );
  }
}
