/** What the engine says, in English; each `{…}` is a place. Its other languages are in the catalogue of the app. */
import { DOCTOR_SAYINGS } from './doctor.ts';
import { FOLDER_SAYINGS } from './folder.ts';
import { NETWORK_SAYINGS } from './network.ts';
import { PROJECT_SAYINGS } from './project.ts';
import { REQUEST_SAYINGS } from './request.ts';
import { TUNNEL_SAYINGS } from './tunnel.ts';

export const SAYINGS = {
  ...DOCTOR_SAYINGS,
  ...FOLDER_SAYINGS,
  ...NETWORK_SAYINGS,
  ...PROJECT_SAYINGS,
  ...REQUEST_SAYINGS,
  ...TUNNEL_SAYINGS,
} as const;

export type SayingCode = keyof typeof SAYINGS;
