/**
 * Invitations that are opened in the app (protocol.md section 13): shown first, and accepted once the user
 * confirms.
 */
import { randomUUID } from 'node:crypto';
import { toMessage } from '../../../client/messages.ts';
import { type InvitationAddress, readInvitation } from '../../../client/relay/invitation.ts';
import { isProtected } from '../../../client/relay/relay-address.ts';
import type { InvitationView, KeyKept } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure, toCallError } from '../failure.ts';
import type { Platform } from '../platform.ts';
import { Signal } from '../../../client/signal.ts';
import type { SigningSecrets } from '../signing.ts';
import type { TunnelList } from '../tunnels/tunnel-list.ts';
import type { UndoList } from '../undo-list.ts';
import { notEncrypted, type SignIn, withScheme } from './sign-in.ts';

/**
 * Maximum number of invitations that the app looks up at the same time: anything can open links, and each waits
 * for its relay.
 */
export const INVITATION_LOOKS_MAX = 4;

interface InvitationsOptions extends LeaveOptions {
  readonly platform: Pick<Platform, 'connect' | 'lookAtInvitation' | 'takeInvitation'>;
  /** how a key can be stored on this machine, best first */
  readonly keeps: () => Promise<readonly KeyKept[]>;
}

interface Opened {
  readonly invitation: InvitationAddress;
  readonly view: InvitationView;
  /** the key that it gave: it works once, and a later step may have to be repeated */
  readonly key?: string;
}

export class Invitations {
  /** The view has changed. */
  readonly changed = new Signal();
  readonly #options: InvitationsOptions;
  #opened: Opened | undefined;
  #isTaking = false;
  #looks = 0;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /** The one that the user is asked about. */
  get view(): InvitationView | undefined {
    return this.#opened?.view;
  }

  /**
   * Asks the relay for the account of an invitation, then asks the user. Anything can open a link, so this accepts
   * nothing. It replaces the previous invitation, unless that is being accepted.
   *
   * @param address from a link, or pasted
   * @throws CallFailure if it is not an invitation, or too many relays have not answered yet
   */
  async open(address: string): Promise<void> {
    const invitation = readInvitation(withScheme(address.trim()));
    if (invitation === undefined)
      throw new CallFailure({ code: 'no-invitation', field: 'relay', text: t('problem.notInvitation') });
    if (this.#isTaking) return;
    if (this.#looks >= INVITATION_LOOKS_MAX)
      throw new CallFailure({
        code: 'busy',
        text: t('problem.otherInvitations'),
      });
    const asked = { id: randomUUID(), relay: invitation.relay.origin };
    this.#show({ invitation, view: { ...asked, state: 'looking' } });
    const view = await this.#look(invitation, asked);
    if (this.view?.id === asked.id) this.#show({ invitation, view });
  }

  /**
   * Accepts the invitation that the user has seen, and signs in with its key. Another account is signed out, which can
   * be undone.
   *
   * @throws CallFailure, RelayRefusal, RelayUnreachable: then nobody is signed out, and it can be tried again
   */
  async accept(id: string, keep: KeyKept): Promise<void> {
    const opened = this.#opened;
    if (this.#isTaking) return;
    if (opened?.view.id !== id || opened.view.state !== 'open')
      throw new CallFailure({
        code: 'no-invitation',
        text: t('problem.invitationNotShown'),
      });
    if (this.#options.signIn.view.state === 'signing-in')
      throw new CallFailure({
        code: 'busy',
        text: t('problem.signingIn'),
      });
    this.#isTaking = true;
    try {
      await this.#take(opened, keep);
      this.#show(undefined);
    } finally {
      this.#isTaking = false;
    }
  }

  /** The user does not want it; it stays valid. */
  dismiss(id: string): void {
    if (!this.#isTaking && this.view?.id === id) this.#show(undefined);
  }

  async #look(
    invitation: InvitationAddress,
    asked: Pick<InvitationView, 'id' | 'relay'>,
  ): Promise<InvitationView> {
    this.#looks += 1;
    try {
      if (!isProtected(invitation.relay)) throw new CallFailure(notEncrypted());
      const { account, expires_at } = await this.#options.platform.lookAtInvitation(invitation);
      const keeps = await this.#options.keeps();
      return { ...asked, state: 'open', account, endsAt: Date.parse(expires_at), keeps };
    } catch (error) {
      const failure = toCallError(error);
      if (failure === undefined) throw error;
      return { ...asked, state: 'failed', problem: { code: failure.code, text: failure.text } };
    } finally {
      this.#looks -= 1;
    }
  }

  async #take(opened: Opened, keep: KeyKept): Promise<void> {
    const { platform, signIn, undos } = this.#options;
    const { invitation, view } = opened;
    const { relay } = invitation;
    const key = opened.key ?? (await platform.takeInvitation(invitation)).key;
    this.#opened = { invitation, view, key };
    const api = platform.connect(relay, key);
    const account = await api.getAccount();
    const { view: session } = signIn;
    if (session.state !== 'signed-in') void undos.commitAll();
    else if (!signIn.isSame(relay, account))
      await leave(
        (closed) => t('undo.left', { account: session.account.name, relay: session.relay, closed }),
        this.#options,
      );
    await signIn.enter({ relay, key, api }, account, keep);
  }

  #show(opened: Opened | undefined): void {
    this.#opened = opened;
    this.changed.emit();
  }
}

interface LeaveOptions {
  readonly signIn: SignIn;
  readonly tunnelList: TunnelList;
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
  { signIn, tunnelList, secrets, undos }: LeaveOptions,
): Promise<void> {
  // It does not reject, and takes as long as the relay does.
  void undos.commitAll();
  const count = tunnelList.liveCount;
  const tunnels = await tunnelList.setAside(toMessage('ended.youSignedOut'));
  const restoreSecrets = await secrets.setAside();
  const signInAgain = await signIn.signOut();
  undos.offer({
    text: said(count),
    undo: async () => {
      // An account that signed in since is signed out, and its tunnels end.
      const since = await tunnelList.setAside(toMessage('ended.youSignedOut'));
      await signInAgain();
      await restoreSecrets();
      await tunnels.restore();
      await since.close();
    },
    commit: () => tunnels.close(),
  });
}
