import { examine } from '../../client/diagnostics/diagnose.ts';
import type { Remedies } from '../../client/diagnostics/hop.ts';
import { say } from '../../client/messages.ts';
import type { Network } from '../../client/network/network.ts';
import type { Examine } from './diagnostics.ts';

/** What to do, as far as this app has other ways than the command. */
const REMEDIES: Remedies = {
  noKey: say('doctor.app.newKey'),
  badKey: say('doctor.app.newKey'),
  certificate: say('doctor.app.certificate'),
  noLocal: say('doctor.app.noLocal'),
  local: say('doctor.app.local'),
};
const FROM = say('doctor.app.source');

/** @param network the way to the relay */
export function examineWithDoctor(network: Network): Examine {
  return ({ relay, key }, local, interrupted, tell) =>
    examine(
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
