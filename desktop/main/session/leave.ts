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
 * @param what was done, as the beginning of a sentence: `You are signed out`
 */
export async function leave(what: string, { signIn, desk, secrets, undos }: LeaveOptions): Promise<void> {
  // It does not reject, and takes as long as the relay does.
  void undos.commitAll();
  const count = desk.liveCount;
  const tunnels = await desk.setAside('You signed out.');
  const restoreSecrets = await secrets.setAside();
  const signInAgain = await signIn.signOut();
  undos.offer({
    text: sentence(what, count),
    undo: async () => {
      // Whoever has signed in since is signed out; their tunnels end with that.
      const since = await desk.setAside('You signed out.');
      await signInAgain();
      await restoreSecrets();
      await tunnels.restore();
      await since.close();
    },
    commit: () => tunnels.close(),
  });
}

function sentence(what: string, tunnels: number): string {
  if (tunnels === 0) return `${what}.`;
  return `${what}, and ${tunnels === 1 ? 'your tunnel is' : `${tunnels} tunnels are`} closed.`;
}
