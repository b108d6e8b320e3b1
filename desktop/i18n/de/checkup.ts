import type { Translation } from '../translation.ts';
import type { CHECKUP } from '../en/checkup.ts';

export const CHECKUP_DE: Translation<typeof CHECKUP> = {
  'checkup.toRelay': 'Von hier zum Relay und zurück',
  'checkup.toTunnel': 'Von hier zu {slug}',
  'checkup.stopsAt': 'Hier geht es nicht weiter: {failed}.',
  'checkup.checking': 'Jeder Schritt des Weges wird geprüft …',
  'checkup.notPossible': 'Das konnte nicht geprüft werden.',
  'checkup.works': 'Alles funktioniert.',
  'checkup.result.ok': 'funktioniert',
  'checkup.result.failed': 'schlägt fehl',
  'checkup.result.skipped': 'nicht geprüft',
  'checkup.hop.dns': 'Der Name des Relays',
  'checkup.hop.connect': 'Eine Verbindung dorthin',
  'checkup.hop.tls': 'Verschlüsselung',
  'checkup.hop.relay': 'Das Relay selbst',
  'checkup.hop.key': 'Ihr Schlüssel',
  'checkup.hop.control': 'Ein Tunnel für die Prüfung',
  'checkup.hop.data': 'Eine Anfrage hindurch',
  'checkup.hop.address': 'Die Adresse von Tunneln',
  'checkup.hop.trunk': 'Verbindungen, die Besucher sich teilen',
  'checkup.hop.local': 'Ihr Server',
};
