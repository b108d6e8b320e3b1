/** Every text of the app in English, from which others are translated. */
import { COMMON } from './common.ts';
import { SETTINGS } from './settings.ts';

export const EN = { ...COMMON, ...SETTINGS } as const;
