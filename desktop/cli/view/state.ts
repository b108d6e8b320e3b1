/** State of the terminal view: one value, which the frame is rendered from. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { ApprovalRequest } from '../../client/host/approval-requests.ts';
import type { RequestSummary } from '../../client/inspector/records.ts';
import type { MadeToken } from '../../client/relay/api-responses.ts';
import type { EndReason } from '../output/reporter.ts';

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
  /** local address, such as `http://localhost:3000` */
  readonly localUrl: string;
  readonly status: PanelStatus;
  /** as the relay last showed it; `undefined` until there is one */
  readonly tunnel: Tunnel | undefined;
  /** ms that the relay's clock, which its times are by, is ahead of this machine's */
  readonly aheadMs: number;
  /** whether the command extends it before it expires */
  readonly isKeptOpen: boolean;
  /** the password generated for visitors */
  readonly madePassword: string | undefined;
  /** the tokens made for programs */
  readonly madeTokens: readonly MadeToken[];
  /** what could not be done for a visitor, and what to do about it */
  readonly problem: string | undefined;
  /** visitors who wait for approval */
  readonly knocks: readonly ApprovalRequest[];
  /** newest first */
  readonly requests: readonly RequestSummary[];
}

export interface ViewState {
  readonly panels: readonly PanelState[];
  /** wall-clock ms */
  readonly now: number;
  readonly page: 'overview' | 'code' | 'help' | 'quit';
  /** the panel that keys are about */
  readonly current: number;
  /** address of the window in a browser, once it is open */
  readonly window: string | undefined;
  /** what a key has done */
  readonly note: string | undefined;
  /** whether the terminal shows more than ASCII */
  readonly hasUtf8: boolean;
  /** whether keys are read */
  readonly hasKeys: boolean;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}
