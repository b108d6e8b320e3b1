/** Every text of the app in German, which says "Sie". */
import { COMMON_DE } from './common.ts';
import { SETTINGS_DE } from './settings.ts';

export const DE = { ...COMMON_DE, ...SETTINGS_DE } as const;
