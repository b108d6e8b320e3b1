import type { Translation } from '../translation.ts';
import type { SETS } from '../en/sets.ts';

export const SETS_DE: Translation<typeof SETS> = {
  'problem.setNoName': 'Geben Sie der Sammlung einen Namen.',
  'problem.setLongName': 'Der Name einer Sammlung hat höchstens {max} Zeichen.',
  'problem.setNameTaken':
    'Eine Sammlung namens {name} gibt es schon: Wählen Sie diese oder einen anderen Namen.',
  'problem.setsMany': 'Es gibt {max} Sammlungen; mehr werden nicht aufbewahrt. Entfernen Sie zuerst eine.',
  'problem.setFull':
    'Die Sammlung {name} hat {max} Anfragen; mehr nimmt sie nicht auf. Wählen Sie eine andere.',
  'problem.setsLarge':
    'Alle Sammlungen zusammen fassen höchstens {max} MiB: Entfernen Sie zuerst Anfragen. Geändert ist nichts.',
  'problem.setsNotWritten': 'Die Sammlungen lassen sich nicht speichern: {why}. Geändert ist nichts.',
  'problem.setsUnreadable':
    'Ihre Sammlungen von Anfragen konnten nicht gelesen werden, deshalb gibt es jetzt keine. Die alte Datei liegt unter {path}.',
  'problem.setGone': 'Diese Sammlung gibt es nicht mehr.',
  'problem.keptGone': 'Diese Anfrage ist nicht mehr in der Sammlung.',
  'problem.keptCut':
    'Anfrage {id} kann nicht aufbewahrt werden: Ihr Body war größer als die {max} KiB, die aufgezeichnet werden.',
  'problem.keptOpen': 'Anfrage {id} kann erst aufbewahrt werden, wenn sie ganz angekommen ist.',
  'problem.keptUpgrade': 'Anfrage {id} hat einen WebSocket geöffnet und lässt sich nicht erneut senden.',
  'undo.setRemoved': 'Die Sammlung {name} ist entfernt.',
  'undo.keptRemoved': '{method} {target} ist aus {name} entfernt.',
};
