/** The engine's request log, as the window asks for it. */
import { systemClock } from '../../engine/clock.ts';
import { Deadlines } from '../../engine/deadlines.ts';
import { curlCommand, shellOf } from '../../engine/inspector/curl.ts';
import { Replayer } from '../../engine/inspector/replay.ts';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import { addImported } from '../../engine/inspector/transfer/add-imported.ts';
import { LocalDialer } from '../../engine/local/local-dialer.ts';
import type { LocalTarget } from '../../engine/local/local-target.ts';
import { LOG_REQUESTS_MAX } from '../limits.ts';
import type { TunnelLog } from './tunnel-log.ts';

/** @param target where requests are repeated */
export function createEngineLog(target: LocalTarget): TunnelLog {
  const log = new RequestLog(systemClock, LOG_REQUESTS_MAX);
  const deadlines = new Deadlines(systemClock);
  const replayer = new Replayer(log, new LocalDialer(target, deadlines), deadlines);
  return {
    recorder: log,
    get pulse() {
      return log.pulse;
    },
    list: (count) => log.list(undefined, count),
    get revision() {
      return log.revision;
    },
    changes: (since, count) => log.changes(since, count),
    detail: (id, reveal) => log.detail(id, { reveal }),
    curl(id, origin, reveal) {
      const detail = log.detail(id, { reveal });
      return detail && curlCommand(detail, origin, shellOf(process.platform));
    },
    replay: (id, prepare) => replayer.replay(id, prepare),
    replayEdited: (id, edit, prepare) => replayer.replayEdited(id, edit, prepare),
    send: (request, host, prepare) => replayer.sendImported(request, host, prepare),
    add: (request, host) => addImported(log, request, host),
    clear: (upTo) => log.clear(upTo),
    subscribe: (listener) => log.subscribe(listener),
  };
}
