/** What the guards of a route leave behind for those after them. */
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { CreateTunnel } from '../../shared/tunnel.ts';
import type { AccountRecord } from '../store/records.ts';

export interface ApiState {
  /** UUID, the answer's `X-Request-Id` */
  requestId: string;
  /** behind `authenticate()` */
  account: AccountRecord;
  /** behind `readCreate()` */
  wanted: CreateTunnel;
}

export type ApiContext = RouterContext<ApiState>;
export type ApiMiddleware = RouterMiddleware<ApiState>;
