/** A relay with exclusive use of its database. */
import { ALONE, NO_OTHER_RELAYS } from '../clients/ownership.ts';
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
