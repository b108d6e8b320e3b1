/** Every text of the app in English, from which others are translated. */
import { SAYINGS } from '../../engine/said/sayings.ts';
import { BENCH } from './bench.ts';
import { BODY } from './body.ts';
import { CHECKUP } from './checkup.ts';
import { COMMON } from './common.ts';
import { CREATE } from './create.ts';
import { DROP } from './drop.ts';
import { LOCK } from './lock.ts';
import { LOG } from './log.ts';
import { NOTICES } from './notices.ts';
import { PALETTE } from './palette.ts';
import { PROBLEMS } from './problems.ts';
import { PROJECT } from './project.ts';
import { REFUSALS } from './refusals.ts';
import { SETS } from './sets.ts';
import { SETTINGS } from './settings.ts';
import { SIGN_IN } from './sign-in.ts';
import { SIGNATURE } from './signature.ts';
import { SYSTEM } from './system.ts';
import { TIME } from './time.ts';
import { TRANSFER } from './transfer.ts';
import { TUNNELS } from './tunnels.ts';

export const EN = {
  ...BENCH,
  ...BODY,
  ...CHECKUP,
  ...COMMON,
  ...CREATE,
  ...DROP,
  ...LOCK,
  ...LOG,
  ...NOTICES,
  ...PALETTE,
  ...PROBLEMS,
  ...PROJECT,
  ...REFUSALS,
  ...SAYINGS,
  ...SETS,
  ...SETTINGS,
  ...SIGN_IN,
  ...SIGNATURE,
  ...SYSTEM,
  ...TIME,
  ...TRANSFER,
  ...TUNNELS,
} as const;
