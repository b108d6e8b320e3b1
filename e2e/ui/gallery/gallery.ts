/** Every screen of the window, in each of its states: axe judges them and the screenshots show them. */
import { BENCH_SCENES } from './bench-scenes.ts';
import { DROP_SCENES } from './drop-scenes.ts';
import { FORM_SCENES } from './form-scenes.ts';
import { LIST_SCENES } from './list-scenes.ts';
import { LOCK_SCENES } from './lock-scenes.ts';
import { LOG_SCENES } from './log-scenes.ts';
import { PROJECT_SCENES } from './project-scenes.ts';
import type { Scene } from './scene.ts';
import { SETS_SCENES } from './sets-scenes.ts';
import { SETTINGS_SCENES } from './settings-scenes.ts';
import { SIGN_IN_SCENES } from './sign-in-scenes.ts';
import { TRANSFER_SCENES } from './transfer-scenes.ts';

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
];
