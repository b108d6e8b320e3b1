import { t } from '../../i18n/translate.ts';
import { parseDuration } from '../../../shared/duration.ts';
import type { Problem, TunnelView } from '../../shared/snapshot.ts';
import { folderName } from '../folder-name.ts';
import { RECENT_REQUESTS } from '../limits.ts';
import type { PortScan } from '../ports/port-scan.ts';
import type { DeskTunnel } from '../tunnels/desk-tunnel.ts';
import type { ShownLog } from '../tunnels/shown-log.ts';

/**
 * What the window shows of one tunnel.
 *
 * @param scan the latest look at ports
 * @param isJudged whether that look began after what is known otherwise of the local service: that it is to be reached, or cannot be
 */
export function tunnelView(
  {
    key,
    status,
    tunnel,
    form,
    log,
    localProblem,
    lock,
    knocks,
    logView,
  }: Pick<
    DeskTunnel,
    'key' | 'status' | 'tunnel' | 'form' | 'localProblem' | 'lock' | 'knocks' | 'logView'
  > & {
    readonly log: Pick<ShownLog, 'list' | 'point' | 'pulse'>;
  },
  scan: PortScan | undefined,
  isJudged: boolean,
): TunnelView {
  const { folder } = form;
  const hasPort = folder === undefined;
  return {
    key,
    status,
    url: tunnel.public_url,
    slug: tunnel.slug,
    name: form.name,
    localPort: form.port,
    folder: hasPort ? undefined : folderName(folder),
    framework: !hasPort ? undefined : scan?.ports.find(({ port }) => port === form.port)?.framework,
    localProblem:
      status.name === 'ended'
        ? undefined
        : hasPort
          ? problemNow(form.port, localProblem, isJudged ? scan : undefined)
          : localProblem,
    hostHeader: form.hostHeader,
    lock,
    knocks,
    isIdle: tunnel.idle_ttl,
    ttl: parseDuration(tunnel.ttl) ?? 0,
    expiresAt: Date.parse(tunnel.expires_at),
    requests: tunnel.requests,
    bytesIn: tunnel.bytes_in,
    bytesOut: tunnel.bytes_out,
    recent: log.list(RECENT_REQUESTS),
    pulse: log.pulse,
    log: log.point,
    logView,
  };
}

/** The port scan notices earlier than a visitor that nothing listens, and that something listens again. */
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
