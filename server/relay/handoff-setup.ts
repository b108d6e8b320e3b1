/**
 * The handoff socket that a relay shares with the previous or next one on the same data folder and port, or the reason
 * that there is no such socket.
 */
import { uriHost } from '../../shared/networks.ts';
import type { Config } from '../config.ts';
import { HandoffSender, type Replaceable } from '../handoff/give.ts';
import { handoffSocketPath } from '../handoff/handoff-socket.ts';
import { HandoffError, HandoffReceiver } from '../handoff/take.ts';
import { describeError, type Log } from '../log.ts';

/** Both relays must write it the same way. */
export function addressOf(host: string, port: number): string {
  return `${uriHost(host)}:${port}`;
}

/**
 * Looks for the relay that serves the same data folder and port.
 *
 * @returns `undefined` if there is none
 * @throws HandoffError if it cannot be replaced
 */
export async function takeOver(config: Config, log: Log): Promise<HandoffReceiver | undefined> {
  if (config.cluster !== undefined)
    throw new HandoffError(
      'a relay in a cluster cannot be replaced; stop it, which moves its clients to the other relays, and start it again',
    );
  if (config.port === 0)
    throw new HandoffError('CULVERT_PORT=0 does not say which relay to replace; set the port of that relay');
  const path = handoffSocketPath(config.dataDir, config.port);
  const takeover = await HandoffReceiver.begin(path, addressOf(config.host, config.port));
  if (takeover !== undefined) log('taking over');
  return takeover;
}

/** Makes this relay available to `serve --replace`. If that fails, it serves nevertheless. */
export async function beReplaceable(
  path: string,
  relay: Replaceable,
  { cluster }: Config,
  log: Log,
): Promise<HandoffSender | undefined> {
  // Relays of a cluster replace each other.
  if (cluster !== undefined) return undefined;
  try {
    return await HandoffSender.open(path, relay, log);
  } catch (error) {
    log('not replaceable', { reason: describeError(error) });
    return undefined;
  }
}
