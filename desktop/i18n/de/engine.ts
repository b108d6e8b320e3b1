import type { Translation } from '../translation.ts';
import type { SAYINGS } from '../../engine/said/sayings.ts';

/** What the engine says. */
export const ENGINE_DE: Translation<typeof SAYINGS> = {
  'network.refused': 'dort lauscht nichts',
  'network.reset': 'die Verbindung wurde zurückgesetzt',
  'network.closed': 'die Verbindung wurde geschlossen',
  'network.noHost': 'diesen Host gibt es nicht',
  'network.notLookedUp': 'der Name konnte nicht nachgeschlagen werden',
  'network.hostUnreachable': 'der Host ist nicht erreichbar',
  'network.unreachable': 'das Netz ist nicht erreichbar',
  'network.down': 'das Netz ist ausgefallen',
  'network.silent': 'es kam nicht rechtzeitig eine Antwort',
  'network.otherName': 'das Zertifikat gilt für einen anderen Namen',
  'network.noTls': 'dort wird kein TLS gesprochen',
  'network.certificateExpired': 'das Zertifikat ist abgelaufen',
  'network.untrusted': 'das Zertifikat ist von keiner vertrauenswürdigen Stelle signiert',
  'network.proxy': 'der Proxy {proxy} ist nicht erreichbar: {why}',
  'network.proxyClosed': 'der Proxy {proxy} hat die Verbindung geschlossen',
  'network.noProxy': 'was unter {proxy} antwortet, ist kein HTTP-Proxy',
  'network.proxyRefused': 'der Proxy {proxy} hat eine Verbindung zu {host} mit {status} beantwortet',
  'network.tooLarge': 'die Antwort ist zu groß',
  'network.noWebSocket': 'die Antwort ist nicht die eines WebSockets',
  'network.noHttp': 'die Antwort ist kein HTTP',
  'relay.answeredStatus': 'das Relay hat mit Status {status} geantwortet',
  'network.proxyLogin':
    'der Proxy {proxy} verlangt eine Anmeldung: Schreiben Sie sie in seine Adresse, als http://user:password@{proxy}',
  'network.proxyRefusedLogin':
    'der Proxy {proxy} hat den Benutzer oder das Passwort in seiner Adresse abgelehnt',
  'relay.noData': 'keine Datenverbindung zu {origin}: {why}',
  'network.speaksTls': 'dort wird TLS gesprochen, die Adresse beginnt also mit https:// (https://{host})',
  'relay.notRelay': 'Was unter {origin} antwortet, ist kein Culvert-Relay',
  'relay.unreachable': 'Das Relay unter {origin} ist nicht erreichbar: {why}',
  'relay.otherRequest':
    'Das Relay hat die Antwort auf eine andere Anfrage geschickt; versuchen Sie es noch einmal',
  'relay.notUnderstood': 'Das Relay hat eine Antwort geschickt, die Culvert nicht versteht',
  'relay.badField':
    'Das Relay hat eine Antwort geschickt, die Culvert nicht versteht: „{field}“ ist ungültig',
  'relay.linkElsewhere': 'Das Relay hat einen Link geschickt, der woandershin führt',
  'relay.notAddress':
    '„{text}“ ist keine Adresse eines Relays: Geben Sie http:// oder https://, einen Host und, wenn nötig, einen Port an, etwa https://relay.example.com',
  'relay.moreThanAddress':
    '„{text}“ enthält mehr als die Adresse eines Relays: Geben Sie http:// oder https://, einen Host und, wenn nötig, einen Port an, etwa https://relay.example.com',
  'relay.noAccess':
    'Dieses Relay ist zu alt, um den Zugang zu einem Tunnel zu beschränken, und muss aktualisiert werden. {outcome}',
  'relay.noDomains': 'Dieses Relay ist zu alt für eigene Domains und muss aktualisiert werden. {outcome}',
  'relay.closedAtOnce': 'Der Tunnel wurde gleich geschlossen',
  'relay.notClosed': 'Der Tunnel konnte nicht geschlossen werden, aber niemand bedient ihn: {why}',
  'relay.status': 'es hat mit Status {status} geantwortet',
  'relay.moved': 'es hat eine andere Adresse: {address}',
  'relay.noWebAddress': 'keine Webadresse',
  'relay.refusedOnce': 'es hat den Schlüssel einmal abgelehnt und dann nicht mehr',
  'relay.nothingChanged': 'Es hat sich nichts geändert',
  'relay.leftOut': 'Es hat nicht alles übernommen, was verlangt war',
  'replay.tooMany': 'Es werden schon {max} Anfragen wiederholt. Versuchen Sie es später noch einmal.',
  'replay.incomplete': 'Anfrage {id} ist noch nicht zu Ende, deshalb kann sie nicht wiederholt werden.',
  'replay.notComeYet': 'Anfrage {id} ist noch nicht angekommen, deshalb kann sie nicht bearbeitet werden.',
  'replay.unknown': 'Es gibt keine Anfrage {id}, oder ihr Inhalt ist nicht mehr da.',
  'replay.webSocket': 'Anfrage {id} hat einen WebSocket geöffnet, der nicht wiederholt werden kann.',
  'replay.truncated':
    'Anfrage {id} kann nicht wiederholt werden: Von ihrem Body sind nur {kept} KiB aufgezeichnet.',
  'replay.localRefused':
    'Auf {service} antwortet nichts. Starten Sie den Dienst dort, und versuchen Sie es noch einmal.',
  'doctor.notTried': 'ohne „{hop}“ nicht geprüft',
  'doctor.isAddress': '{host} ist schon eine Adresse',
  'doctor.proxyLooksUp': '{host} schlägt der Proxy {proxy} nach',
  'doctor.addresses': '{host} hat die Adresse {addresses}',
  'doctor.at': '{place}: {why}',
  'doctor.portOf': 'Port {port} von {host}: {why}',
  'doctor.dnsFix': 'Prüfen Sie die Adresse des Relays (aus: {source}) und die Verbindung dieses Computers.',
  'doctor.overProxy': 'über den Proxy {proxy}, mit dem nächsten Schritt',
  'doctor.portOpen': 'Port {port} nimmt Verbindungen an',
  'doctor.connectFix':
    'Prüfen Sie, ob culvert-relay dort läuft und keine Firewall dazwischen ist; ein Proxy wird mit HTTPS_PROXY angegeben.',
  'doctor.notEncrypted': '{origin} ist nicht verschlüsselt',
  'doctor.certificate': 'das Zertifikat gilt für {host} und ist vertrauenswürdig',
  'doctor.notRelay': 'was unter {origin} antwortet, gibt sich nicht als Culvert-Relay aus (Status {status})',
  'doctor.notRelayFix':
    'Prüfen Sie die Adresse; vielleicht gibt auch ein Proxy vor dem Relay Anfragen nicht weiter.',
  'doctor.notReady': 'es läuft, ist aber nicht bereit',
  'doctor.notReadyFix':
    'Sehen Sie im Protokoll des Relays nach: Es erreicht seine Datenbank nicht oder wird gerade beendet.',
  'doctor.relay': '{origin} ist ein Culvert-Relay {version} und bereit',
  'doctor.relayLogs': 'Sehen Sie im Protokoll des Relays nach.',
  'doctor.proxyLogs': 'Sehen Sie in den Protokollen des Proxys {proxy} und des Relays nach.',
  'doctor.noKey': 'für {origin} gibt es keinen',
  'doctor.key': 'der von {account} (Tarif {plan}), aus: {source}',
  'doctor.badKey': '{why} (aus: {source})',
  'doctor.keyFix': 'Versuchen Sie es noch einmal; das Relay antwortet, aber nicht hierauf.',
  'doctor.upgradeFix':
    'WebSockets kommen nicht durch: Ein Proxy auf dem Weg oder vor dem Relay muss Upgrade weitergeben, mit langer Zeitgrenze.',
  'doctor.noTestTunnel': 'WebSockets erreichen das Relay; kein Testtunnel: {why}',
  'doctor.testTunnel': 'ein Testtunnel ist online, {slug}',
  'doctor.closedWith': 'mit {code} geschlossen',
  'doctor.control': 'Steuerverbindung: {why}',
  'doctor.noPaths': 'dieses Relay hat keine Adressen mit Pfad',
  'doctor.answered': 'eine Anfrage durch den Tunnel wird beantwortet',
  'doctor.addressFix':
    'Besucher erreichen diese Adresse nicht: Ein Wildcard-DNS-Eintrag muss *.{domain} zum Relay führen, mit einem Zertifikat dafür.',
  'doctor.addressFixPath':
    'Besucher erreichen diese Adresse nicht: Ein Wildcard-DNS-Eintrag muss *.{domain} zum Relay führen, mit einem Zertifikat dafür. Geben Sie bis dahin {path} weiter.',
  'doctor.leads': '{host} führt zum Tunnel',
  'doctor.otherAnswer': '{host} hat mit Status {status} geantwortet, {code}',
  'doctor.notByTunnel': '{host} hat mit Status {status} geantwortet, und nicht der Tunnel',
  'doctor.withoutTunnel': 'ohne Testtunnel nicht geprüft',
  'doctor.pathsOnly': 'dieses Relay hat nur Adressen mit Pfad',
  'doctor.browsersOnly': '{host} ist nur in Browsern dieser Computer',
  'doctor.noTrunks': 'dieses Relay kennt keine gemeinsamen Verbindungen',
  'doctor.trunk': 'Besucher teilen sich Verbindungen zum Relay',
  'doctor.trunkFix':
    'Besucher werden trotzdem bedient, jeder über eine eigene Verbindung, was langsamer ist. Ein Proxy auf dem Weg oder vor dem Relay muss /ws/trunk so weitergeben wie /ws/data, mit langer Zeitgrenze.',
  'doctor.local': '{service} nimmt Verbindungen an',
  'doctor.nothingOnBoth': 'auf Port {port} von 127.0.0.1 und ::1 antwortet nichts',
  'doctor.nothingOn': 'auf {service} antwortet nichts',
  'doctor.folder': 'der Ordner {folder} ist lesbar',
  'doctor.folderFix':
    'Legen Sie den Ordner zurück, schließen Sie sein Laufwerk an, oder lassen Sie sich das Lesen erlauben.',
  'doctor.app.source': 'Ihre Anmeldung',
  'doctor.app.newKey':
    'Melden Sie sich in den Einstellungen ab, und melden Sie sich mit einem gültigen Schlüssel an.',
  'doctor.app.certificate':
    'Der Betreiber des Relays muss das Zertifikat erneuern; hat eine eigene Stelle es signiert, geben Sie deren Datei in CULVERT_CA an, und starten Sie Culvert neu.',
  'doctor.app.noLocal': 'es ging um keinen Tunnel',
  'doctor.app.local': 'Starten Sie Ihren Server, oder geben Sie den Port frei, den er beim Start ausgibt.',
};
