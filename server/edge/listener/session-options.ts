/** What the contexts of all certificates have in common, so that a session of one handshake is good for the next. */
import type { SecureContextOptions } from 'node:tls';
import { SESSION_SECONDS } from '../../limits.ts';

export const SESSIONS: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  // By default it is made from the arguments of the command, and sessions of relays that were started otherwise do not count.
  sessionIdContext: 'culvert',
  sessionTimeout: SESSION_SECONDS,
};
