/** The engine's request log, as the window asks for it. */
import { RequestLog } from '../../engine/inspector/request-log.ts';
import type { TunnelLog } from './tunnel-log.ts';

export function createEngineLog(): TunnelLog {
  const log = new RequestLog();
  return {
    recorder: log,
    list: (count) => log.list(undefined, count),
    detail: (id) => log.detail(id),
    curl: () => undefined,
    replay: () => Promise.reject(new Error('not yet')),
    clear: () => log.clear(),
    subscribe: (listener) => log.subscribe(listener),
  };
}
