/** Every text of the app in English, from which others are translated. */
import { COMMON } from './common.ts';
import { DROP } from './drop.ts';
import { SETTINGS } from './settings.ts';
import { TIME } from './time.ts';

export const EN = { ...COMMON, ...DROP, ...SETTINGS, ...TIME } as const;
