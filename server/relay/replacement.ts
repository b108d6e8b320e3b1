/** What a relay does when another one takes over from it, step by step (docs/decisions/0020-replacing-a-relay.md). */
import type { Edge } from '../edge/edge.ts';
import type { Hub } from '../link/hub.ts';
import { errorFields, type Log } from '../log.ts';
import type { Listeners } from '../listeners.ts';
import type { Replaceable, Successor } from '../succession/handover.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import type { Domains } from './domains.ts';
import type { State } from './state.ts';

export interface ReplaceableParts {
  /** where visitors come */
  readonly address: string;
  readonly listeners: Pick<Listeners, 'descriptors'>;
  readonly edge: Pick<Edge, 'hold' | 'goOn' | 'leave'>;
  readonly hub: Pick<Hub, 'missed'>;
  readonly service: Pick<TunnelService, 'pause' | 'resume' | 'leave' | 'endElsewhere' | 'followStored'>;
  readonly domains: Pick<Domains, 'pause' | 'resume'>;
  readonly state: Pick<State, 'lock' | 'unlock'>;
  readonly log: Log;
  /** Takes a connection from the relay before. */
  readonly adopt: Replaceable['adopt'];
  /** told once, when another relay serves */
  readonly onReplaced: (successor: Successor) => void;
}

/** @returns the relay as the one that replaces it has to know it */
export function replaceable(parts: ReplaceableParts): Replaceable {
  const { address, listeners, edge, hub, service, domains, state, log, adopt, onReplaced } = parts;
  return {
    address,
    adopt,
    get descriptors() {
      return listeners.descriptors;
    },
    async letGo() {
      const [isIdle] = await Promise.all([edge.hold(), domains.pause()]);
      if (!isIdle) {
        domains.resume();
        edge.goOn();
        throw new Error('its database does not answer');
      }
      await service.pause();
      state.unlock();
      return hub.missed;
    },
    async goOn() {
      try {
        await state.lock();
      } catch {
        return false;
      }
      service.resume();
      domains.resume();
      edge.goOn();
      return true;
    },
    leave(successor) {
      service.leave((deltas) => successor.tellCounted(deltas));
      edge.leave(({ address: visitor, proto }, onReset) =>
        successor.pass({ address: visitor, proto }, onReset),
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

/** Lets those who are left finish. @returns fulfilled when nobody is left; the caller limits how long that may take */
export async function leave(hub: Hub, edge: Edge): Promise<void> {
  hub.askToMove();
  await hub.moved();
  hub.drain();
  await edge.empty();
}
