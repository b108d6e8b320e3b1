import { sayNetworkError } from '../network/errors.ts';
import type { Network } from '../network/network.ts';
import { say, type Sayable } from '../said/said.ts';
import { speaksTls } from '../network/speaks-tls.ts';
import type { RelayAddress } from './relay-address.ts';

/** What a server that speaks TLS does with a request without it. */
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE']);

/** Says in plain words why a relay could not be asked; a relay that speaks TLS, and was asked without it, is named so. */
export async function sayReachError(error: unknown, network: Network, relay: RelayAddress): Promise<Sayable> {
  if (
    !relay.secure &&
    isBrokenOff(error) &&
    network.proxyFor(relay) === undefined &&
    (await speaksTls(relay))
  )
    return say('network.speaksTls', { host: relay.host });
  return sayNetworkError(error);
}

function isBrokenOff(error: unknown): boolean {
  // A `TimeoutError` has a number there.
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && (BROKEN_OFF.has(code) || code.startsWith('HPE_'));
}
