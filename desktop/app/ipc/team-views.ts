/** The people of the account, as its owners see them in the window. Times are wall-clock ms. */
export interface TeamView {
  /** valid keys, oldest first */
  readonly members: readonly MemberView[];
  /** open invitations, oldest first */
  readonly invitations: readonly OpenInvitationView[];
  /** the latest entries of the audit log, newest first */
  readonly acts: readonly TeamActView[];
  /** whether the relay has listed more than the window shows */
  readonly hasMore: boolean;
}

export interface MemberView {
  readonly id: string;
  /** name of the person; empty if the key has none */
  readonly label: string;
  /** the first characters of the key */
  readonly hint: string;
  /** `owner`, `all`, or the name of the only tunnel that the key can be used for */
  readonly scope: string;
  readonly createdAt: number;
  /** accurate to one minute; `undefined` if it was never used */
  readonly usedAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** whether this app is signed in with the key */
  readonly isOwn: boolean;
}

export interface OpenInvitationView {
  readonly id: string;
  readonly label: string;
  readonly expiresAt: number;
}

/** An invitation that was just created: only then is its address known. */
export interface NewInvitationView extends OpenInvitationView {
  readonly url: string;
}

/** An entry of the audit log, in the relay's words. */
export interface TeamActView {
  readonly at: number;
  /** `key:ID`, `invite:ID`, or `operator` */
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: string;
}
