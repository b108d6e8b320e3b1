/** Every text of the app in German, which says "Sie". */
import { COMMON_DE } from './common.ts';
import { DROP_DE } from './drop.ts';
import { SETTINGS_DE } from './settings.ts';
import { TIME_DE } from './time.ts';

export const DE = { ...COMMON_DE, ...DROP_DE, ...SETTINGS_DE, ...TIME_DE } as const;
