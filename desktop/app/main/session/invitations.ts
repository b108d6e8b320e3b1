/**
 * Invitations that are opened in the app (protocol.md section 13): shown first, and accepted once the user
 * confirms.
 */
import { randomUUID } from 'node:crypto';
import { type InvitationAddress, readInvitation } from '../../../client/relay/invitation.ts';
import { isProtected } from '../../../client/relay/relay-address.ts';
import type { InvitationView, KeyKept } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure, toCallError } from '../failure.ts';
import type { Platform } from '../platform.ts';
import { Signal } from '../../../client/signal.ts';
import { notEncrypted, type SignInOptions, withScheme } from './sign-in.ts';

/**
 * Maximum number of invitations that the app looks up at the same time: anything can open links, and each waits
 * for its relay.
 */
export const INVITATION_LOOKS_MAX = 4;

interface InvitationsOptions extends Pick<SignInOptions, 'enter'> {
  readonly platform: Pick<Platform, 'connect' | 'lookAtInvitation' | 'takeInvitation'>;
  /** whether the user is just signing in with a key */
  readonly isSigningIn: () => boolean;
  /** @throws CallFailure if there may be no further account */
  readonly assertRoom: () => void;
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
   * Accepts the invitation that the user has seen, and signs in with its key, beside other accounts.
   *
   * @throws CallFailure, RelayRefusal, RelayUnreachable: it can be tried again
   */
  async accept(id: string, keep: KeyKept): Promise<void> {
    const opened = this.#opened;
    if (this.#isTaking) return;
    if (opened?.view.id !== id || opened.view.state !== 'open')
      throw new CallFailure({
        code: 'no-invitation',
        text: t('problem.invitationNotShown'),
      });
    if (this.#options.isSigningIn())
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
    const { platform, enter, assertRoom } = this.#options;
    const { invitation, view } = opened;
    const { relay } = invitation;
    // It works once.
    assertRoom();
    const key = opened.key ?? (await platform.takeInvitation(invitation)).key;
    this.#opened = { invitation, view, key };
    const api = platform.connect(relay, key);
    await enter({ relay, key, api }, await api.getAccount(), keep);
  }

  #show(opened: Opened | undefined): void {
    this.#opened = opened;
    this.changed.emit();
  }
}
