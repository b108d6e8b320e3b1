/** What the guards of a route leave for those after them. */
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { CreateTunnel } from '../../shared/tunnel.ts';
import type { AccountRecord } from '../store/records.ts';

export interface ApiState {
  /** UUID, the response's `X-Request-Id` */
  requestId: string;
  /** after `authenticate()` */
  account: AccountRecord;
  /** after `readCreate()` */
  wanted: CreateTunnel;
}

export type ApiContext = RouterContext<ApiState>;
export type ApiMiddleware = RouterMiddleware<ApiState>;
