import type { Translation } from '../translation.ts';
import type { PROJECT } from '../en/project.ts';

export const PROJECT_DE: Translation<typeof PROJECT> = {
  'project.open': 'Projekt öffnen …',
  'project.openFolder': 'Ordner teilen …',
  'project.reopen': 'Projekt {name} öffnen',
  'project.instead': 'Statt eines Ports',
  'project.question': 'Tunnel von <b>{name}</b> starten?',
  'project.explained':
    'In culvert.yml steht, was Besucher erreichen und wer hereinkommt. Starten Sie, was Sie kennen: Ausgewählt hat es, wer die Datei geschrieben hat.',
  'project.cannot': 'Dieses Projekt lässt sich nicht öffnen',
  'project.tunnels': 'Tunnel von {name}',
  'project.randomName': 'zufällige Adresse',
  'project.leadsTo': 'führt zu',
  'project.ttl': 'für {ttl}',
  'project.lockUnknown': 'Zugang nicht feststellbar',
  'project.online': 'Schon online',
  'project.starting': 'Wird gestartet …',
  'project.started': 'Gestartet',
  'project.start': '{count, plural, =0 {Tunnel starten} one {# Tunnel starten} other {# Tunnel starten}}',
  'project.isStarting': 'Wird gestartet …',
  'project.allStarted': '{count, plural, one {# Tunnel ist gestartet.} other {# Tunnel sind gestartet.}}',
  'project.someFailed':
    '{failed, plural, one {# Tunnel ließ sich nicht starten.} other {# Tunnel ließen sich nicht starten.}}',
  'project.none':
    'In diesem Ordner liegt keine culvert.yml. Wählen Sie den Ordner eines Projekts, das eine hat.',
  'project.otherRelay':
    'Es ist für das Relay {relay}, und Sie sind bei {own} angemeldet. Melden Sie sich dort an, oder führen Sie culvert start aus.',
  'project.otherMachine':
    'Lässt sich hier nicht starten: Er führt zu einem anderen Rechner, {host}, den Besucher über diesen erreichen würden. Ist das gewollt, führen Sie culvert start --allow-other-hosts aus.',
  'project.unset':
    'Lässt sich hier nicht starten: {why}, und ohne sie hätte der Tunnel seinen Zugangsschutz nicht. Führen Sie culvert start dort aus, wo die Variable gesetzt ist, oder starten Sie Culvert von dort.',
  'project.openAgain': 'Dieses Projekt wird nicht mehr angezeigt. Öffnen Sie es noch einmal.',
  'drop.here': 'Ordner hier ablegen, um ihn zu teilen oder das Projekt darin zu öffnen',
  'drop.isProject':
    'Er enthält auch eine culvert.yml: Statt die Dateien zu teilen, können Sie deren Tunnel starten.',
  'drop.openProject': 'Tunnel anzeigen',
};
