import { basename } from 'node:path';
import { parseDuration } from '../../../shared/duration.ts';
import { isKeptOpen } from '../../client/expiry-watch.ts';
import type { Problem, TunnelView } from '../ipc/snapshot.ts';
import { t } from '../messages/translate.ts';
import type { PortScan } from './ports.ts';
import type { TunnelItem } from './tunnels/tunnel-item.ts';

/** Number of recent requests shown on a tunnel's card. */
const RECENT_REQUESTS = 3;

/**
 * What the window shows of one tunnel.
 *
 * @param scan the latest look at ports
 * @param isJudged whether that look began after what is known otherwise of the local service: that it is to be reached, or cannot be
 */
export function tunnelView(item: TunnelItem, scan: PortScan | undefined, isJudged: boolean): TunnelView {
  const { key, status, tunnel, log, localProblem, lock, tokens, knocks, logView } = item;
  const { settings, requests } = item.served;
  const { target, label, project } = settings;
  const service = 'folder' in target ? undefined : target;
  return {
    key,
    status,
    url: tunnel.public_url,
    wildcardUrl: tunnel.urls.wildcard,
    slug: tunnel.slug,
    name: settings.name ?? '',
    localPort: service?.port ?? tunnel.local_port,
    project: project === undefined ? undefined : { name: project, label: label ?? '' },
    folder: 'folder' in target ? folderName(target.folder) : undefined,
    framework: scan?.ports.find(({ port }) => port === service?.port)?.framework,
    localProblem:
      status.name === 'ended'
        ? undefined
        : service === undefined
          ? localProblem
          : problemNow(service.port, localProblem, isJudged ? scan : undefined),
    hostHeader: service?.hostHeader ?? 'keep',
    lock,
    tokens,
    knocks,
    isIdle: tunnel.idle_ttl,
    isKeptOpen: isKeptOpen(settings),
    ttl: parseDuration(tunnel.ttl) ?? 0,
    expiresAt: Date.parse(tunnel.expires_at),
    requests,
    bytesIn: tunnel.bytes_in,
    bytesOut: tunnel.bytes_out,
    recent: log.list(undefined, RECENT_REQUESTS),
    pulse: log.pulse,
    log: log.point,
    logView,
  };
}

/** The port scan notices earlier than a visitor that nothing listens, or that a server is back. */
function problemNow(
  port: number,
  problem: Problem | undefined,
  scan: PortScan | undefined,
): Problem | undefined {
  if (scan === undefined) return problem;
  if (scan.listening.has(port)) return problem?.code === 'local-refused' ? undefined : problem;
  if (!scan.isComplete) return problem;
  return {
    code: 'local-refused',
    text: t('problem.nothingListens', { port }),
  };
}

/** The name that people use. The root of a disk has only its path. */
export function folderName(path: string): string {
  return basename(path) || path;
}
