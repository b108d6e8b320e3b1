/** Every screen of the window in each of its states, for axe-core and for the screenshots. */
import { DROP_SCENES, PROJECT_SCENES, SETTINGS_SCENES, SIGN_IN_SCENES, TEAM_SCENES } from './app-scenes.ts';
import { BENCH_SCENES, LOG_SCENES, SETS_SCENES, TRANSFER_SCENES } from './request-scenes.ts';
import type { Scene } from './scripted.ts';
import { FORM_SCENES, LIST_SCENES, LOCK_SCENES } from './tunnel-scenes.ts';

export const SCENES: readonly Scene[] = [
  ...SIGN_IN_SCENES,
  ...LIST_SCENES,
  ...FORM_SCENES,
  ...DROP_SCENES,
  ...PROJECT_SCENES,
  ...LOCK_SCENES,
  ...LOG_SCENES,
  ...BENCH_SCENES,
  ...TRANSFER_SCENES,
  ...SETS_SCENES,
  ...SETTINGS_SCENES,
  ...TEAM_SCENES,
];
