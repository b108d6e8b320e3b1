import type { Translation } from '../translation.ts';
import type { NOTICES } from '../en/notices.ts';

export const NOTICES_DE: Translation<typeof NOTICES> = {
  'notice.knock': 'Jemand möchte {slug} sehen',
  'notice.knockFrom': '{agent}, von {address}.',
  'notice.updateOut': 'Culvert {version} ist erschienen',
  'notice.firstVisitor': '{slug} hat den ersten Besucher',
  'notice.expired': '{slug} ist abgelaufen',
  'notice.expiresIn': '{slug} läuft in {minutes} min ab',
  'notice.extend': 'Um 1 Stunde verlängern',
  'notice.clickToExtend': '{text} Ein Klick verlängert ihn um 1 Stunde.',
  'notice.admit': 'Einlassen',
  'notice.refuse': 'Abweisen',
  'notice.clickToAnswer': '{text} Klicken Sie, um zu antworten.',
  'notice.keyRefused': 'Ihr Schlüssel wurde abgelehnt',
  'notice.keyRefused.text': 'Ihre Tunnel sind offline. Melden Sie sich mit einem anderen Schlüssel an.',
  'notice.updateOut.text':
    'Diese Kopie aktualisiert sich nicht selbst, weil sie nicht signiert ist. Ein Klick zeigt, wo es die neue gibt.',
  'notice.trayHint': 'Culvert ist noch da',
  'notice.trayHint.text':
    'Ihre Tunnel bleiben online. Öffnen Sie Culvert aus dem Infobereich, oder starten Sie es noch einmal; „Beenden“ in seinem Menü beendet es.',
  'notice.firstVisitor.text':
    'Eine Anfrage ist gekommen: an {kind, select, folder {Ordner} other {Port}} {name}.',
  'notice.expired.text':
    '{kind, select, folder {Ordner} other {Port}} {name} ist nicht mehr freigegeben. Starten Sie den Tunnel in Culvert wieder.',
  'notice.expiresIn.text':
    'Danach erreicht niemand mehr {kind, select, folder {Ordner} other {Port}} {name}.',
  'notice.expiredTogether': '{count} Tunnel sind abgelaufen',
  'notice.expiredTogether.text':
    'Ihre Ports sind nicht mehr freigegeben. Starten Sie die Tunnel in Culvert wieder.',
  'notice.firstVisitors': '{count} Tunnel haben ihre ersten Besucher',
  'notice.firstVisitors.text': 'Culvert zeigt ihre Anfragen.',
  'notice.lost': '{count, plural, one {{slug} ist offline} other {# Tunnel sind offline}}',
  'notice.back': '{count, plural, one {{slug} ist wieder da} other {# Tunnel sind wieder da}}',
  'notice.allBack': 'Alle {count} Tunnel sind wieder da',
  'notice.back.text': 'Besucher erreichen {count, plural, one {ihn} other {sie}} wieder.',
};
