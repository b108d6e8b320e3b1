/** What the terminal view shows: one value, from which the frame follows. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { RequestSummary } from '../../engine/inspector/records.ts';
import type { EndReason } from '../reporter.ts';

export type PanelStatus =
  | { readonly name: 'opening' }
  | { readonly name: 'online' }
  | {
      readonly name: 'reconnecting';
      /** wall-clock ms of the next attempt */
      readonly retryAt: number;
      readonly why: string;
    }
  | { readonly name: 'ended'; readonly reason: EndReason; readonly why: string };

/** One tunnel. */
export interface PanelState {
  /** what `culvert.yml` calls it */
  readonly label: string | undefined;
  /** where it leads, such as `http://localhost:3000` */
  readonly localUrl: string;
  readonly status: PanelStatus;
  /** as the relay last showed it; `undefined` until there is one */
  readonly tunnel: Tunnel | undefined;
  /** the password that was made up for visitors */
  readonly madePassword: string | undefined;
  /** what could not be done for a visitor, and what to do about it */
  readonly problem: string | undefined;
  /** newest first */
  readonly requests: readonly RequestSummary[];
}

export interface ViewState {
  readonly panels: readonly PanelState[];
  /** wall-clock ms */
  readonly now: number;
  /** the panel whose address is shown as a QR code */
  readonly codeOf: number | undefined;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}
