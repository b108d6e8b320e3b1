/** Who may come into a tunnel, as the app offers and shows it (docs/protocol.md section 11). */

/** What the app can ask of visitors: one of five. */
export type Lock =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'links' }
  | { readonly kind: 'knock' }
  | { readonly kind: 'password'; readonly password: string }
  | { readonly kind: 'addresses'; readonly allow: readonly string[] };

export type LockKind = Lock['kind'];

/** A part of what is asked of visitors; `users` are names with passwords, in the browser's own dialog. */
export type LockPart = 'addresses' | 'users' | 'password' | 'links' | 'knock';

/** What a tunnel asks of its visitors. */
export type LockView =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'links' }
  | { readonly kind: 'knock' }
  | {
      readonly kind: 'password';
      /** `undefined` if it was not set here, or this app no longer knows it: the relay shows it to nobody */
      readonly password: string | undefined;
    }
  | { readonly kind: 'addresses'; readonly allow: readonly string[] }
  /** what the form does not offer, set by a project, the command or another program */
  | {
      readonly kind: 'other';
      readonly parts: readonly LockPart[];
      /** `undefined` if there is none, or this app does not know it */
      readonly password: string | undefined;
    };

/** A link that lets its visitors in. Its address is shown once, when it is made. */
export interface LinkView {
  readonly id: string;
  /** what it is for, or whom; may be empty */
  readonly note: string;
  /** wall-clock ms */
  readonly expiresAt: number;
}

/** A visitor who asks to be let in. */
export interface KnockView {
  readonly id: string;
  /** IP address */
  readonly address: string;
  /** `User-Agent` as sent; may be empty */
  readonly agent: string;
}

/** A visitor who was let in. */
export interface AdmittedView extends KnockView {
  /** wall-clock ms */
  readonly endsAt: number;
}
