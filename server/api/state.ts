/** What the guards of a route leave for those after them. */
import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { WantedTunnel } from '../../shared/tunnel.ts';
import type { AccountRecord, KeyScope, StoredAccess } from '../store/records.ts';

export interface ApiState {
  /** UUID, the response's `X-Request-Id` */
  requestId: string;
  /** after `authenticate()` */
  account: AccountRecord;
  /** the same: id of its key */
  keyId: string;
  /** the same: what its key may be used for */
  scope: KeyScope;
  /** after `readCreate()` */
  wanted: WantedTunnel;
  /** after `hashPasswords()`: who may come in; `null` for everybody */
  access: StoredAccess | null;
}

export type ApiContext = RouterContext<ApiState>;
export type ApiMiddleware = RouterMiddleware<ApiState>;
