/** The engine's request log, as the window asks for it. */
import { systemClock } from '../../engine/clock.ts';
import { Deadlines } from '../../engine/deadlines.ts';
import { curlCommand } from '../../engine/inspector/curl.ts';
import { Replayer } from '../../engine/inspector/replay.ts';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import { LocalDialer } from '../../engine/local/local-dialer.ts';
import type { LocalTarget } from '../../engine/local/local-target.ts';
import type { TunnelLog } from './tunnel-log.ts';

/** @param target where requests are repeated */
export function createEngineLog(target: LocalTarget): TunnelLog {
  const log = new RequestLog();
  const deadlines = new Deadlines(systemClock);
  const replayer = new Replayer(log, new LocalDialer(target, deadlines), deadlines);
  return {
    recorder: log,
    list: (count) => log.list(undefined, count),
    detail: (id) => log.detail(id),
    curl(id, origin) {
      const detail = log.detail(id);
      return detail && curlCommand(detail, origin);
    },
    replay: (id) => replayer.replay(id),
    clear: () => log.clear(),
    subscribe: (listener) => log.subscribe(listener),
  };
}
