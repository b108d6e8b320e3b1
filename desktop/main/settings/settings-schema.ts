/** What a change of the settings may contain. */
import * as yup from 'yup';
import { LANGUAGE_CHOICES } from '../../i18n/locale.ts';
import { SUMMON_SHORTCUTS } from '../../shared/summon.ts';
import type { Settings } from '../../shared/snapshot.ts';

// yup writes "may be missing" as "may be undefined".
export const settingsSchema = yup
  .object({
    startsAtLogin: yup.boolean(),
    notifies: yup.boolean(),
    theme: yup.string().oneOf(['system', 'light', 'dark'] as const),
    language: yup.string().oneOf(LANGUAGE_CHOICES),
    wrapsBodies: yup.boolean(),
    summonShortcut: yup.string().oneOf(SUMMON_SHORTCUTS),
    onQuit: yup.string().oneOf(['ask', 'close', 'leave'] as const),
  })
  .strict()
  .noUnknown()
  .required() as unknown as yup.ObjectSchema<Partial<Settings>>;
