/** The steps of a relay during a handoff to another one (docs/decisions/0020-replacing-a-relay.md). */
import { uriHost } from '../../shared/networks.ts';
import type { Hub } from '../clients/hub.ts';
import type { Config } from '../config.ts';
import type { Edge } from '../edge/edge.ts';
import { HandoffSender, type Replaceable, type Successor } from '../handoff/give.ts';
import { handoffSocketPath } from '../handoff/handoff-socket.ts';
import { HandoffError, HandoffReceiver } from '../handoff/take.ts';
import type { Listeners } from '../listeners.ts';
import { describeError, errorFields, type Log } from '../log.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { Domains } from './domains-setup.ts';
import type { State } from './state-setup.ts';

interface ReplaceableParts {
  /** address of the listener for visitors */
  readonly address: string;
  readonly listeners: Pick<Listeners, 'descriptors'>;
  readonly edge: Pick<Edge, 'hold' | 'resume' | 'leave'>;
  readonly hub: Pick<Hub, 'missed'>;
  readonly service: Pick<TunnelService, 'pause' | 'resume' | 'leave' | 'endElsewhere' | 'followStored'>;
  readonly domains: Pick<Domains, 'pause' | 'resume'>;
  readonly state: Pick<State, 'lock' | 'unlock'>;
  readonly log: Log;
  /** Accepts a connection from the previous relay. */
  readonly adopt: Replaceable['adopt'];
  /** called once, when another relay serves */
  readonly onReplaced: (successor: Successor) => void;
}

/** @returns the relay as seen by the one that replaces it */
export function replaceable(parts: ReplaceableParts): Replaceable {
  const { address, listeners, edge, hub, service, domains, state, log, adopt, onReplaced } = parts;
  return {
    address,
    adopt,
    get descriptors() {
      return listeners.descriptors;
    },
    async release() {
      const [isIdle] = await Promise.all([edge.hold(), domains.pause()]);
      if (!isIdle) {
        domains.resume();
        edge.resume();
        throw new Error('its database does not respond');
      }
      await service.pause();
      state.unlock();
      return hub.missed;
    },
    async resume() {
      try {
        await state.lock();
      } catch {
        return false;
      }
      service.resume();
      domains.resume();
      edge.resume();
      return true;
    },
    leave(successor) {
      service.leave((deltas) => successor.tellCounted(deltas));
      edge.leave(({ address: visitor, proto, trusted }, onReset) =>
        successor.pass({ address: visitor, proto, trusted }, onReset),
      );
      onReplaced(successor);
    },
    hearEnded: (tunnelId, reason) => service.endElsewhere(tunnelId, reason),
    hearAccess: (tunnelId) => {
      service
        .followStored(tunnelId)
        .catch((error: unknown) => log('internal error', { at: 'replacement', ...errorFields(error) }));
    },
  };
}

/** Lets remaining connections finish. @returns fulfilled when none is left; the caller limits how long that may take */
export async function leave(hub: Hub, edge: Edge): Promise<void> {
  hub.askToMove();
  await hub.moved();
  hub.drain();
  await edge.empty();
}

/*
 * The handoff socket that a relay shares with the previous or next one on the same data folder and port, or the reason
 * that there is no such socket.
 */

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
