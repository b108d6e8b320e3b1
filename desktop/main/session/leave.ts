import { t } from '../../i18n/translate.ts';
import type { SigningSecrets } from '../signing/signing-secrets.ts';
import type { TunnelDesk } from '../tunnels/tunnel-desk.ts';
import type { UndoList } from '../undo/undo-list.ts';
import type { SignIn } from './sign-in.ts';

export interface LeaveOptions {
  readonly signIn: SignIn;
  readonly desk: TunnelDesk;
  readonly secrets: Pick<SigningSecrets, 'setAside'>;
  readonly undos: UndoList;
}

/**
 * Signs out, forgets secrets, and ends the tunnels; the relay keeps those until this can no longer be undone.
 *
 * @param said what was done, as a sentence; takes how many tunnels that has closed
 */
export async function leave(
  said: (closed: number) => string,
  { signIn, desk, secrets, undos }: LeaveOptions,
): Promise<void> {
  // It does not reject, and takes as long as the relay does.
  void undos.commitAll();
  const count = desk.liveCount;
  const tunnels = await desk.setAside(t('ended.youSignedOut'));
  const restoreSecrets = await secrets.setAside();
  const signInAgain = await signIn.signOut();
  undos.offer({
    text: said(count),
    undo: async () => {
      // Whoever has signed in since is signed out; their tunnels end with that.
      const since = await desk.setAside(t('ended.youSignedOut'));
      await signInAgain();
      await restoreSecrets();
      await tunnels.restore();
      await since.close();
    },
    commit: () => tunnels.close(),
  });
}
