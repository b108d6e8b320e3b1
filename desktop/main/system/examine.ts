import { examine } from '../../doctor/examine.ts';
import type { Remedies } from '../../doctor/subject.ts';
import type { Network } from '../../engine/network/network.ts';
import type { Examine } from '../checkup.ts';

const FROM = 'your sign-in';
const NEW_KEY = 'Sign out in the settings, and sign in with a key that is valid.';
/** What to do, as far as this app has other ways than the command. */
const REMEDIES: Remedies = {
  noKey: NEW_KEY,
  badKey: NEW_KEY,
  certificate:
    'Whoever runs the relay has to renew the certificate; if an authority of your own has signed it, name its file in CULVERT_CA and start Culvert again.',
  noLocal: 'no tunnel was asked about',
  local: 'Start your server, or expose the port that it prints when it starts.',
};

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
