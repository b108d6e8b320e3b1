/** Every text of the app in German, which says "Sie". */
import { BENCH_DE } from './bench.ts';
import { BODY_DE } from './body.ts';
import { CHECKUP_DE } from './checkup.ts';
import { COMMON_DE } from './common.ts';
import { CREATE_DE } from './create.ts';
import { DROP_DE } from './drop.ts';
import { ENGINE_DE } from './engine.ts';
import { LOCK_DE } from './lock.ts';
import { LOG_DE } from './log.ts';
import { NOTICES_DE } from './notices.ts';
import { PALETTE_DE } from './palette.ts';
import { PROBLEMS_DE } from './problems.ts';
import { PROJECT_DE } from './project.ts';
import { REFUSALS_DE } from './refusals.ts';
import { SETS_DE } from './sets.ts';
import { SETTINGS_DE } from './settings.ts';
import { SIGN_IN_DE } from './sign-in.ts';
import { SIGNATURE_DE } from './signature.ts';
import { SYSTEM_DE } from './system.ts';
import { TIME_DE } from './time.ts';
import { TRANSFER_DE } from './transfer.ts';
import { TUNNELS_DE } from './tunnels.ts';

export const DE = {
  ...BENCH_DE,
  ...BODY_DE,
  ...CHECKUP_DE,
  ...COMMON_DE,
  ...CREATE_DE,
  ...DROP_DE,
  ...ENGINE_DE,
  ...LOCK_DE,
  ...LOG_DE,
  ...NOTICES_DE,
  ...PALETTE_DE,
  ...PROBLEMS_DE,
  ...PROJECT_DE,
  ...REFUSALS_DE,
  ...SETS_DE,
  ...SETTINGS_DE,
  ...SIGN_IN_DE,
  ...SIGNATURE_DE,
  ...SYSTEM_DE,
  ...TIME_DE,
  ...TRANSFER_DE,
  ...TUNNELS_DE,
} as const;
