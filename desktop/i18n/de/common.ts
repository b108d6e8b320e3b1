import type { Translation } from '../translation.ts';
import type { COMMON } from '../en/common.ts';

export const COMMON_DE: Translation<typeof COMMON> = {
  'common.stillStarting': 'Culvert startet noch. Das dauert länger, als es sollte.',
  'common.openAgain': '{problem} Schließen Sie dieses Fenster und öffnen Sie es wieder.',
  'common.lostContact': 'Das Fenster hat den Kontakt zur App verloren.',
  'common.menu': 'Menü',
  'common.noAnswer':
    'Die App hinter diesem Fenster hat nicht geantwortet. Beenden Sie Culvert und starten Sie es wieder.',
  'common.qr': 'QR-Code von {text}',
  'common.back': 'Zurück',
  'common.backWithKey': 'Zurück (Esc)',
  'common.close': 'Schließen',
  'common.cancel': 'Abbrechen',
  'common.findOutWhy': 'Ursache finden',
  'common.findOutWhyOf': 'Ursache finden: {slug}',
  'undo.undone': 'Rückgängig gemacht.',
  'undo.justNow': 'Gerade erledigt',
  'undo.undoOf': 'Rückgängig machen: {text}',
  'undo.undoWithKey': 'Rückgängig machen ({keys})',
  'undo.undo': 'Rückgängig',
  'panes.openRequests': 'Öffnen Sie die Anfragen eines Tunnels, dann erscheinen sie hier.',
  'panes.chooseRequest': 'Wählen Sie eine Anfrage, dann erscheint sie hier.',
  'panes.besideList': 'Die Anfrage steht neben der Liste. F6 führt dorthin.',
  'announce.noNetwork': 'Dieser Computer hat kein Netz.',
  'announce.wantsIn': '{agent} bittet um Zugang zu {slug}.',
  'announce.online': '{slug} ist online.',
  'announce.lost': '{slug} hat die Verbindung verloren und verbindet sich neu.',
  'announce.ended': '{slug} ist beendet. {why}',
  'announce.reaches': '{slug} erreicht Ihren Server wieder.',
  'common.copy': 'Kopieren',
  'common.copied': 'Kopiert',
  'common.copyThing':
    '{kind, select, requestHeaders {Header der Anfrage} responseHeaders {Header der Antwort} header {Wert von {name}} jsonValue {Wert} jsonPath {Pfad} recordName {Namen des {name}-Eintrags} other {Wert des {name}-Eintrags}} kopieren',
  'common.isCopiedThing':
    '{kind, select, requestHeaders {Header der Anfrage} responseHeaders {Header der Antwort} header {Wert von {name}} jsonValue {Wert} jsonPath {Pfad} recordName {Name des {name}-Eintrags} other {Wert des {name}-Eintrags}} kopiert',
  'common.copiedThing':
    '{kind, select, requestHeaders {Header der Anfrage} responseHeaders {Header der Antwort} header {Wert von {name}} jsonValue {Wert} jsonPath {Pfad} recordName {Name des {name}-Eintrags} other {Wert des {name}-Eintrags}} kopiert.',
  'common.leadsToPort': 'Port {port}',
  'common.leadsToFolder': 'Ordner {folder}',
  'agent.programOn': '{program} auf {system}',
  'agent.unknown': 'Ein unbekanntes Programm',
  'agent.someOn': 'Ein Programm auf {system}',
  'announce.more': 'Und {count, plural, one {eine weitere Änderung} other {# weitere Änderungen}}.',
  'undo.domainRemoved': '{domain} wird in 8 Sek. entfernt. Ein Tunnel, der sie hat, endet.',
  'undo.stopsSoon': '{slug} wird in 8 Sek. gestoppt.',
  'undo.stopped': '{slug} ist gestoppt.',
  'undo.removed': '{slug} ist entfernt.',
  'undo.logCleared': 'Das Protokoll von {slug} ist geleert.',
  'undo.left':
    'Sie haben {account} bei {relay} verlassen{closed, plural, =0 {} one {, und Ihr Tunnel ist geschlossen} other {, und # Tunnel sind geschlossen}}.',
  'undo.signedOut':
    'Sie sind abgemeldet{closed, plural, =0 {} one {, und Ihr Tunnel ist geschlossen} other {, und # Tunnel sind geschlossen}}.',
  'keys.control': 'Strg',
  'keys.shift': 'Umschalt',
  'keys.space': 'Leertaste',
};
