/** Whether a trunk comes through: what is in front of a relay may let only the other WebSockets pass (docs/protocol.md section 10). */
import { API_ERRORS } from '../../shared/errors.ts';
import { systemClock } from '../engine/clock.ts';
import { DataDialer } from '../engine/data/data-dialer.ts';
import { Deadlines } from '../engine/deadlines.ts';
import { call } from '../engine/network/call.ts';
import { sayNetworkError } from '../engine/network/errors.ts';
import { RelayRefusal } from '../engine/relay/errors.ts';
import { readRefusal } from '../engine/relay/refusal.ts';
import { say, type Sayable } from '../engine/said/said.ts';
import type { RelayAccess } from './subject.ts';
import { DOCTOR_ANSWER_MAX_BYTES, DOCTOR_HOP_TIMEOUT_MS } from './limits.ts';
import { HopFailure, HopSkipped } from './hop.ts';

/**
 * Opens a trunk, and cuts it.
 *
 * @param tunnelId of a tunnel that is online
 * @returns what was found, in a few words
 * @throws HopFailure, or HopSkipped where the relay takes no trunks
 */
export async function checkTrunk(access: RelayAccess, tunnelId: string): Promise<Sayable> {
  try {
    await openOnce(access, tunnelId);
  } catch (error) {
    const status = error instanceof RelayRefusal ? error.status : undefined;
    // With those that the tunnel's client has open, there may be as many as the relay takes.
    if (status !== API_ERRORS.tooManyTrunks.status) {
      if (status === API_ERRORS.notFound.status && (await isRelaysOwn(access)))
        throw new HopSkipped(say('doctor.noTrunks'));
      throw new HopFailure(
        say('doctor.at', { place: '/ws/trunk', why: sayNetworkError(error) }),
        say('doctor.trunkFix'),
      );
    }
  }
  return say('doctor.trunk');
}

function openOnce({ relay, key, network }: RelayAccess, tunnelId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    new DataDialer(relay, network, new Deadlines(systemClock)).openTrunk(tunnelId, key, {
      opened(stream) {
        stream.destroy();
        resolve();
      },
      failed: reject,
    });
  });
}

/** Whether the relay answers at that path itself: it asks for an upgrade or, where it is older, knows no such path. */
async function isRelaysOwn({ relay, network }: RelayAccess): Promise<boolean> {
  const wanted = { method: 'GET', path: '/ws/trunk', headers: {}, body: undefined };
  const limits = { maxBytes: DOCTOR_ANSWER_MAX_BYTES, timeoutMs: DOCTOR_HOP_TIMEOUT_MS };
  const got = await call(network, relay, { ...wanted, ...limits }).catch(() => undefined);
  return got !== undefined && readRefusal(got.status, got.headers, got.text, systemClock.now()).isOwn;
}
