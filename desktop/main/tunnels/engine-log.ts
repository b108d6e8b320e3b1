/** The engine's request log, as the window asks for it. */
import { systemClock } from '../../engine/clock.ts';
import { Deadlines } from '../../engine/deadlines.ts';
import { curlCommand } from '../../engine/inspector/curl.ts';
import { Replayer } from '../../engine/inspector/replay.ts';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import { LocalDialer } from '../../engine/local-dialer.ts';
import { describeTarget, type LocalTarget } from '../../engine/local-target.ts';
import type { TunnelLog } from './tunnel-log.ts';

export function createEngineLog(): TunnelLog {
  const log = new RequestLog();
  const deadlines = new Deadlines(systemClock);
  /** one for each target, so that its limit of replays at a time holds; a tunnel has one target, as a rule */
  const replayers = new Map<string, Replayer>();

  function replayerTo(target: LocalTarget): Replayer {
    const name = describeTarget(target);
    const replayer = replayers.get(name) ?? new Replayer(log, new LocalDialer(target, deadlines), deadlines);
    replayers.set(name, replayer);
    return replayer;
  }

  return {
    recorder: log,
    list: (count) => log.list(undefined, count),
    detail: (id) => log.detail(id),
    curl(id, origin) {
      const detail = log.detail(id);
      return detail && curlCommand(detail, origin);
    },
    replay: (id, target) => replayerTo(target).replay(id),
    clear: () => log.clear(),
    subscribe: (listener) => log.subscribe(listener),
  };
}
