import { diagnose } from '../../client/diagnostics/diagnose.ts';
import type { Remedies } from '../../client/diagnostics/hop.ts';
import { toMessage } from '../../client/messages.ts';
import type { Network } from '../../client/network/network.ts';
import type { Diagnose } from './diagnostics.ts';

/** What to do, as far as this app has other ways than the command. */
const REMEDIES: Remedies = {
  noKey: toMessage('doctor.app.newKey'),
  badKey: toMessage('doctor.app.newKey'),
  certificate: toMessage('doctor.app.certificate'),
  noLocal: toMessage('doctor.app.noLocal'),
  local: toMessage('doctor.app.local'),
};
const FROM = toMessage('doctor.app.source');

/** @param network the way to the relay */
export function runDiagnostics(network: Network): Diagnose {
  return ({ relay, key }, local, interrupted, tell) =>
    diagnose(
      {
        relay,
        relayFrom: FROM,
        network,
        key,
        keyFrom: FROM,
        requireKey: () => key,
        local,
        remedies: REMEDIES,
      },
      interrupted,
      tell,
    );
}
