import type { Translation } from '../translation.ts';
import type { COMMON } from '../en/common.ts';

export const COMMON_DE: Translation<typeof COMMON> = {
  'common.stillStarting': 'Culvert startet noch. Das dauert länger, als es sollte.',
  'common.openAgain': '{problem} Schließen Sie dieses Fenster und öffnen Sie es wieder.',
  'common.lostContact': 'Das Fenster hat den Kontakt zur App verloren.',
  'common.close': 'Schließen',
  'common.cancel': 'Abbrechen',
};
