import type { Translation } from '../translation.ts';
import type { PROBLEMS } from '../en/problems.ts';

export const PROBLEMS_DE: Translation<typeof PROBLEMS> = {
  'session.signedOutFirst': 'Sie sind abgemeldet. Melden Sie sich zuerst an.',
  'session.settingsUnreadable':
    'Ihre Einstellungen konnten nicht gelesen werden, deshalb startet Culvert mit neuen. Die alte Datei liegt unter {path}.',
  'problem.domainGone': 'Sie haben diese Domain nicht mehr.',
  'problem.dropAgain': 'Dieser Ordner wird nicht mehr gezeigt. Wählen Sie ihn noch einmal.',
  'problem.dropSignIn': 'Melden Sie sich zuerst an. Wählen Sie den Ordner dann noch einmal.',
  'problem.keyUnknown':
    'Das Relay kennt diesen Schlüssel nicht. Prüfen Sie, ob Sie ihn ganz kopiert haben, oder erstellen Sie einen neuen.',
  'problem.namesNeedPlan': 'Eigene Namen gibt es ab dem Tarif Dev. Lassen Sie den Namen leer.',
  'problem.invitationGone':
    'Diese Einladung wurde schon benutzt, ist abgelaufen oder hat nie gegolten. Wer sie Ihnen geschickt hat, kann eine neue schicken.',
  'problem.tunnelGone': 'Der Tunnel wurde geschlossen oder ist abgelaufen. Starten Sie ihn wieder.',
  'problem.notRelay': 'Was dort antwortet, ist kein Culvert-Relay. Prüfen Sie die Adresse.',
  'problem.nameReserved': 'Diesen Namen behält das Relay sich vor. Wählen Sie einen anderen.',
  'problem.nameTaken': 'Diesen Namen hat jetzt jemand anders. Wählen Sie einen anderen.',
  'problem.refused': 'Das Relay hat abgelehnt: {message}',
  'problem.port': 'Geben Sie einen Port von 1 bis 65535 an.',
  'problem.notUndone': 'Das kann nicht mehr rückgängig gemacht werden.',
  'problem.visitorGone': 'Dieser Besucher wartet nicht mehr.',
  'problem.usersElsewhere':
    'Culvert bewahrt die Benutzer und Passwörter dieses Tunnels nicht auf und kann sie nicht wieder setzen. Öffnen Sie sein Projekt noch einmal, oder geben Sie den Port neu frei.',
  'problem.passwordUnknown':
    'Das Passwort wurde nicht in dieser App gesetzt oder ist nicht mehr bekannt. Setzen Sie ein anderes.',
  'ended.youStopped': 'Sie haben ihn gestoppt.',
  'ended.otherAccount': 'Sie haben sich bei einem anderen Konto angemeldet.',
  'problem.tooManyTunnels': 'Culvert behält {max} Tunnel. Stoppen Sie zuerst einen.',
  'problem.stopFirst': 'Stoppen Sie den Tunnel, bevor Sie ihn entfernen.',
  'problem.notInList': 'Dieser Tunnel ist nicht mehr in der Liste.',
  'problem.notSaved': 'Das konnte nicht gespeichert werden.',
  'problem.wrong': 'In Culvert ist etwas schiefgegangen. Versuchen Sie es noch einmal.',
  'problem.nothingListens':
    'Auf Port {port} lauscht nichts. Besucher sehen eine 502, bis Sie Ihren Server starten.',
  'problem.cannotSign':
    'Culvert kann diese Anfrage nicht signieren: Sie hat keinen Header eines Dienstes, dessen Geheimnis gesetzt ist. Setzen Sie den Header wieder ein, oder senden Sie die Anfrage, ohne sie zu signieren.',
  'problem.importFolder':
    'Dieser Tunnel führt zu einem Ordner. Importieren Sie Anfragen in einen, der zu einem Port führt.',
  'problem.importNoFile': '{path} ist keine Datei.',
  'problem.importNotRead': 'Culvert kann {path} nicht lesen: {why}.',
  'problem.importTooLarge':
    '{path} hat {size} MiB, und {max} MiB werden angenommen: Exportieren Sie dort, wo die HAR-Datei herkommt, weniger Anfragen.',
  'problem.pasteCurl': 'Fügen Sie einen curl-Befehl ein.',
  'problem.noSecret': 'Es gibt kein Geheimnis, um diese Anfrage zu signieren. Fügen Sie es zuerst hinzu.',
  'problem.tooManySecrets':
    'Culvert behält {max} Geheimnisse eines Dienstes je Tunnel. Entfernen Sie zuerst eines.',
  'problem.notInvitation': 'Das ist keine Einladung.',
  'problem.otherInvitations':
    'Andere Einladungen werden gerade geöffnet. Versuchen Sie es gleich noch einmal.',
  'problem.invitationNotShown': 'Diese Einladung wird nicht mehr gezeigt. Öffnen Sie sie noch einmal.',
  'problem.signingIn': 'Culvert meldet sich gerade an. Warten Sie das ab, oder brechen Sie es zuerst ab.',
  'ended.youSignedOut': 'Sie haben sich abgemeldet.',
  'problem.notEncrypted':
    'Dieses Relay ist nicht verschlüsselt: Andere auf dem Weg könnten Ihren Schlüssel lesen. Geben Sie eine Adresse an, die mit https:// beginnt.',
  'problem.keyRefused':
    'Das Relay nimmt Ihren Schlüssel nicht mehr an. Melden Sie sich mit einem anderen an.',
  'problem.notKey':
    'Das ist kein Schlüssel von Culvert: Ein Schlüssel beginnt mit {prefix} und hat mindestens 36 Buchstaben und Ziffern.',
  'problem.cancelled': 'Sie haben es abgebrochen.',
  'problem.ownWindow': 'Das darf nur das eigene Fenster von Culvert verlangen.',
  'problem.notWebAddress': 'Das Relay hat eine Adresse genannt, die keine Webadresse ist.',
  'problem.requestGone': 'Was von dieser Anfrage aufgezeichnet war, ist nicht mehr da.',
  'problem.takesNothing': 'Das nimmt nichts entgegen.',
  'problem.time': 'Geben Sie eine Dauer wie 30m, 4h oder 1h30m an.',
  'problem.tooManyHeaders': 'Eine Anfrage nimmt {max} Header auf.',
  'problem.giveRelay': 'Geben Sie die Adresse Ihres Relays an.',
  'problem.giveKey': 'Geben Sie einen API-Schlüssel an. Er beginnt mit cvt_.',
  'problem.longNote': 'Eine Notiz hat höchstens {max} Zeichen.',
  'problem.giveDomain': 'Geben Sie eine Domain an, etwa app.example.com.',
  'problem.badDomain': 'Die Domain: {problem}.',
  'problem.pasteSecret': 'Fügen Sie das Geheimnis ein.',
  'problem.shortcut':
    'Ihr System hat dieses Kürzel nicht angenommen: Ein anderes Programm hat es vielleicht. Wählen Sie ein anderes.',
  'problem.requestsGone': 'Was von diesen Anfragen aufgezeichnet war, ist nicht mehr da.',
  'problem.dropSeveral': 'Das sind mehrere Dinge. Ziehen Sie einen Ordner hierher, den Sie lesen können.',
  'problem.dropNoFolder':
    'Das ist kein Ordner dieses Computers. Ziehen Sie einen Ordner hierher, den Sie lesen können.',
  'problem.keepsTrying': '{why} Culvert versucht es weiter.',
  'problem.noConnection': 'Keine Verbindung zum Relay.',
  'problem.askRelay': '{why} Fragen Sie den Betreiber des Relays, oder prüfen Sie die Adresse.',
  'problem.checkAddress': '{why} Prüfen Sie die Adresse.',
  'problem.checkAddressAndNetwork': '{why} Prüfen Sie die Adresse und Ihr Netz.',
  'problem.rateLimit':
    'Zu viele neue Tunnel auf einmal. Versuchen Sie es {seconds, plural, =0 {in einer Minute} other {in # s}} noch einmal.',
  'problem.relayTrouble':
    'Das Relay kann das gerade nicht: {message}. Versuchen Sie es {seconds, plural, =0 {in einer Minute} other {in # s}} noch einmal.',
  'problem.cannotStart': 'Culvert kann nicht starten',
  'problem.give': 'Erlaubt ist: {accepted}.',
  'accepted.domain': 'eine eigene Domain ohne https:// und Port, etwa app.example.com',
  'accepted.hostHeader': 'keep, local oder ein Hostname mit oder ohne Port, etwa app.test:3000',
  'accepted.localHost': 'ein Hostname oder eine IP-Adresse, ohne Port',
  'accepted.name':
    '2 bis 63 Kleinbuchstaben, Ziffern und Bindestriche, am Anfang und am Ende kein Bindestrich, und nicht xn-- am Anfang',
  'accepted.network': 'eine Adresse oder ein Netz, etwa 192.0.2.7 oder 10.0.0.0/8',
  'accepted.password': '4 bis 128 Zeichen',
  'accepted.port': 'eine ganze Zahl von 1 bis 65535',
  'accepted.flag': 'true oder false',
  'accepted.folder': 'der Pfad eines Ordners in dem von culvert.yml, etwa ./public',
  'accepted.user': '1 bis 64 Zeichen ohne Doppelpunkt',
  'accepted.userPassword': '1 bis 128 Zeichen',
  'accepted.wait': 'ganze Sekunden von 0 bis 60',
  'accepted.ttl': 'eine Dauer wie 90s, 30m, 4h oder 1h30m, mindestens 1s',
  'problem.folderNotServed': 'Der Ordner kann nicht bereitgestellt werden: {why}.',
  'problem.settingsNotWritten': 'Culvert kann seine Einstellungen nicht schreiben: {why}.',
  'problem.fileNotWritten': 'Culvert kann {path} nicht schreiben: {why}.',
  'problem.harTooLarge':
    'Eine HAR-Datei nimmt höchstens {max} MiB auf, so viel wie die ersten {count} dieser Anfragen: Suchen Sie nach weniger.',
  'problem.systemRefused': 'Ihr System hat das nicht angenommen: {why}.',
  'writing.mayNot': 'dort dürfen Sie nicht schreiben',
  'writing.readOnly': 'dort kann nichts geschrieben werden',
  'writing.noRoom': 'es ist kein Platz mehr',
  'writing.isFolder': 'ein Ordner heißt so',
  'writing.longName': 'der Name ist zu lang',
  'ended.quit': 'Culvert wurde beendet.',
  'problem.dropOther': '{why} Wählen Sie einen Ordner, den Sie lesen können.',
};
