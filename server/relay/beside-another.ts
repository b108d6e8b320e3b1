/** A relay and the one before or after it on the same data folder and port: where they meet, or why not. */
import { uriHost } from '../../shared/host.ts';
import type { Config } from '../config.ts';
import { describeError, type Log } from '../log.ts';
import { Handover, type Replaceable } from '../succession/handover.ts';
import { meetingPath } from '../succession/meeting-point.ts';
import { Takeover, TakeoverError } from '../succession/takeover.ts';

/** As both relays must write it. */
export function addressOf(host: string, port: number): string {
  return `${uriHost(host)}:${port}`;
}

/**
 * Looks for the relay that serves the same data folder and port.
 *
 * @returns `undefined` where there is none
 * @throws TakeoverError when it cannot be replaced
 */
export async function takeOver(config: Config, log: Log): Promise<Takeover | undefined> {
  if (config.cluster !== undefined)
    throw new TakeoverError(
      'relays of a cluster are not replaced: stop one of them, which hands its clients to the others, and start it again',
    );
  if (config.port === 0)
    throw new TakeoverError('without a port there is no relay to find; set CULVERT_PORT');
  const path = meetingPath(config.dataDir, config.port);
  const takeover = await Takeover.begin(path, addressOf(config.host, config.port));
  if (takeover !== undefined) log('taking over');
  return takeover;
}

/** Lets `serve --replace` find this relay. Where that cannot be, it serves nevertheless. */
export async function beReplaceable(
  path: string,
  relay: Replaceable,
  { cluster }: Config,
  log: Log,
): Promise<Handover | undefined> {
  // Relays of a cluster take each other's place.
  if (cluster !== undefined) return undefined;
  try {
    return await Handover.open(path, relay, log);
  } catch (error) {
    log('not replaceable', { reason: describeError(error) });
    return undefined;
  }
}
