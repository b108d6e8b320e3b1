import type { Translation } from '../translation.ts';
import type { SETS } from '../en/sets.ts';

export const SETS_DE: Translation<typeof SETS> = {
  'sets.title': 'Aufbewahrte Anfragen',
  'sets.sentTo':
    'Gesendet wird an localhost:{port} von {slug}; Webhooks mit hinterlegtem Geheimnis werden dabei neu signiert.',
  'sets.needsOnline': 'Zum Senden muss {slug} online sein.',
  'sets.none':
    'Noch wird keine Anfrage aufbewahrt. Öffnen Sie eine im Protokoll und wählen Sie „Aufbewahren…“.',
  'sets.requests': '{count, plural, one {# Anfrage} other {# Anfragen}}',
  'sets.requestsOf': 'Anfragen in {name}',
  'sets.sendAll': 'Alle senden',
  'sets.edit': 'Bearbeiten',
  'sets.rename': 'Umbenennen',
  'sets.remove': 'Entfernen',
  'sets.save': 'Speichern',
  'sets.name': 'Name der Sammlung',
  'sets.nameHint': 'Wofür sie da ist, etwa „Bestellungen“.',
  'sets.renamed': 'Die Sammlung heißt jetzt {name}.',
  'sets.progress': '{done} von {count} gesendet.',
  'sets.sent':
    '{count, plural, one {# Anfrage gesendet} other {# Anfragen gesendet}}, {ok} mit 2xx beantwortet.',
  'sets.noResponse': 'keine Antwort',
  'sets.resultOf': '{result}: zeigen, was aus {request} wurde',
  'sets.keepTitle': '{method} {target} aufbewahren',
  'sets.set': 'In der Sammlung',
  'sets.new': 'Neue Sammlung…',
  'sets.keep': 'Aufbewahren',
  'sets.keepDots': 'Aufbewahren…',
  'sets.withSecrets': 'Sie wird mit ihren Geheimnissen aufbewahrt, damit Ihr Server sie auch später annimmt.',
  'sets.open': 'Aufbewahrt',
  'sets.openTitle': 'Anfragen, die unter einem Namen aufbewahrt werden',
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
  'undo.kept': '{request} wird in {name} aufbewahrt.',
  'undo.keptInMemory':
    '{request} wird in {name} bis zum Beenden aufbewahrt: Sicher speichern lässt es sich hier nicht.',
  'undo.setRemoved': 'Die Sammlung {name} ist entfernt.',
  'undo.keptRemoved': '{request} ist aus {name} entfernt.',
};
