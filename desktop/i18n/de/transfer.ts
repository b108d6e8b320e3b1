import type { Translation } from '../translation.ts';
import type { TRANSFER } from '../en/transfer.ts';

export const TRANSFER_DE: Translation<typeof TRANSFER> = {
  'import.title': 'In {slug} importieren',
  'import.text': 'curl-Befehl',
  'import.hint':
    'Oder eine HAR-Datei, wie Browser und andere Programme sie schreiben. Gesendet wird nichts, bevor Sie es senden.',
  'import.file': 'HAR wählen …',
  'import.import': 'Importieren',
  'import.done':
    '{count, plural, =0 {Keine Anfrage ist importiert.} one {# Anfrage ist importiert.} other {# Anfragen sind importiert.}}',
  'import.moreLeftOut':
    '{count, plural, one {# weitere ist ausgelassen.} other {# weitere sind ausgelassen.}}',
  'import.redacted':
    'Einige haben {mark} anstelle von Geheimnissen: Schreiben Sie sie unter „Bearbeiten und senden“ hinein.',
};
