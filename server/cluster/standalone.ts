/** A relay that has its database to itself. */
import { NO_OTHER_RELAYS } from '../link/other-relays.ts';
import { ALONE } from '../link/presence.ts';
import type { Peering } from './peering.ts';

export const STANDALONE: Peering = {
  presence: ALONE,
  peers: undefined,
  dial: (request) => NO_OTHER_RELAYS.dial(request),
  limit: (local) => local,
  start: () => Promise.resolve(),
  hasOthers: false,
  sayLeaving() {},
  settle: () => Promise.resolve(),
  stop: () => Promise.resolve(),
};
