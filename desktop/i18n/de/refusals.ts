import type { Translation } from '../translation.ts';
import type { REFUSALS } from '../en/refusals.ts';

export const REFUSALS_DE: Translation<typeof REFUSALS> = {
  'refusal.invalid-body': 'die Anfrage ist ungültig',
  'refusal.invalid-port': 'der Port muss von 1 bis 65535 sein',
  'refusal.invalid-ttl': 'die Laufzeit ist ungültig',
  'refusal.invalid-name':
    'ein Name hat 2 bis 63 Kleinbuchstaben, Ziffern und Bindestriche und beginnt oder endet nicht mit einem Bindestrich',
  'refusal.missing-tunnel-id': 'die Kennung des Tunnels fehlt',
  'refusal.missing-id': 'die Kennung der Verbindung oder des Tunnels fehlt',
  'refusal.invalid-handshake': 'der WebSocket-Handshake ist ungültig',
  'refusal.missing-key': 'der API-Schlüssel fehlt',
  'refusal.invalid-key': 'der API-Schlüssel ist ungültig',
  'refusal.plan-too-low': 'eigene Namen gibt es ab dem Tarif Dev',
  'refusal.not-found': 'das gibt es dort nicht',
  'refusal.tunnel-not-found': 'diesen Tunnel gibt es nicht',
  'refusal.connection-not-found': 'diese Verbindung gibt es nicht',
  'refusal.tunnel-not-connected': 'der Tunnel ist nicht verbunden',
  'refusal.link-not-found': 'diesen Link gibt es nicht',
  'refusal.knock-not-found': 'dieser Besucher wartet nicht mehr',
  'refusal.domain-not-found': 'diese Domain gibt es nicht',
  'refusal.invitation-not-found': 'diese Einladung wurde schon benutzt, ist abgelaufen oder hat nie gegolten',
  'refusal.invalid-machine':
    'der Name des Computers darf höchstens 100 Zeichen und keine Steuerzeichen haben',
  'refusal.method-not-allowed': 'diese Methode ist nicht erlaubt',
  'refusal.name-taken': 'der Name ist vergeben',
  'refusal.name-reserved': 'der Name ist dem Relay vorbehalten',
  'refusal.domain-taken': 'die Domain gehört dem Relay, oder ein anderes Konto hat sie nachgewiesen',
  'refusal.domain-not-verified':
    'die Domain ist noch nicht bestätigt: Tragen Sie ihre Einträge im DNS ein, und lassen Sie sie prüfen',
  'refusal.domain-fixed':
    'der Tunnel dieses Namens behält seine Adressen: Schließen Sie ihn, und erstellen Sie ihn mit der Domain neu',
  'refusal.domain-in-use': 'ein anderer Tunnel hat diese Domain',
  'refusal.links-off':
    'signierte Links lassen niemanden in diesen Tunnel: Erlauben Sie Links zuerst bei seinem Zugang',
  'refusal.body-too-large': 'die Anfrage ist zu groß',
  'refusal.upgrade-required': 'hier ist ein WebSocket nötig',
  'refusal.rate-limited': 'das waren zu viele Anfragen',
  'refusal.too-many-wrong-keys': 'von dieser Adresse kamen zu viele falsche API-Schlüssel',
  'refusal.too-many-trunks': 'es sind zu viele gemeinsame Verbindungen offen',
  'refusal.internal-error': 'im Relay ist ein Fehler aufgetreten',
  'refusal.unavailable': 'der Dienst ist nicht verfügbar',
  'refusal.too-many-sockets': 'es sind zu viele Clients verbunden',
  'refusal.ttl-too-long': 'die Laufzeit darf höchstens {duration} sein',
  'refusal.too-many-tunnels':
    'der Tarif {plan} erlaubt {number} Tunnel zugleich; schließen Sie einen, oder warten Sie bis {time}, dann läuft der nächste ab',
  'refusal.key-scope': 'dieser API-Schlüssel gilt nur für {scope}',
  'refusal.invalid-admin-request': 'ungültig: {field}, erlaubt ist {rule}',
  'refusal.no-such-thing': 'das gibt es nicht: {kind} „{name}“',
  'refusal.taken': 'schon vergeben: {field}',
  'refusal.account-suspended': 'dieses Konto ist gesperrt: {reason}',
  'refusal.invalid-knock-answer': 'ungültig: {field}, erlaubt ist {rule}',
  'refusal.too-many-admitted':
    'ein Tunnel lässt höchstens {number} anklopfende Besucher zugleich ein; schicken Sie einen hinaus, oder warten Sie bis {time}',
  'refusal.invalid-access': 'der Zugang ist ungültig: {reason}',
  'refusal.invalid-link': 'der Link ist ungültig: {field}, erlaubt ist {rule}',
  'refusal.invalid-domain': 'die Domain ist ungültig: {problem}',
  'refusal.too-many-domains': 'der Tarif {plan} erlaubt {number} Domains, unbestätigte mitgezählt',
  'refusal.too-many-links':
    'ein Tunnel hat höchstens {number} Links zugleich, dazu {more} vor ihrem Ende widerrufene; widerrufen Sie einen, oder warten Sie bis {time}, dann endet der nächste',
};
