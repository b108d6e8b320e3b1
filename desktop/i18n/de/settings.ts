import type { Translation } from '../translation.ts';
import type { SETTINGS } from '../en/settings.ts';

export const SETTINGS_DE: Translation<typeof SETTINGS> = {
  'settings.title': 'Einstellungen',
  'settings.app': 'App',
  'settings.startsAtLogin': 'Bei der Anmeldung starten',
  'settings.startsAtLogin.hint': 'Ohne Fenster, im Infobereich.',
  'settings.notifies': 'Mitteilungen',
  'settings.notifies.hint':
    'Wenn ein Tunnel seinen ersten Besucher hat, bald abläuft, abgelaufen oder verloren ist, und wenn der Schlüssel abgelehnt wird.',
  'settings.shortcut': 'Tastenkürzel von überall',
  'settings.shortcut.hint': 'Zeigt die neueste Adresse; zweimal gedrückt kopiert es sie.',
  'settings.shortcut.refused':
    'Ihr System gibt es nicht her: Ein anderes Programm hat es vielleicht, oder keines darf eines haben.',
  'settings.shortcut.off': 'Aus',
  'settings.language': 'Sprache',
  'settings.language.system': 'Wie das System',
  'settings.theme': 'Erscheinungsbild',
  'settings.theme.system': 'Wie das System',
  'settings.theme.light': 'Hell',
  'settings.theme.dark': 'Dunkel',
  'settings.onQuit': 'Tunnel, wenn Culvert beendet wird',
  'settings.onQuit.ask': 'Jedes Mal fragen',
  'settings.onQuit.close': 'Schließen',
  'settings.onQuit.leave': 'Offen lassen, bis sie ablaufen',
  'settings.account': 'Konto',
  'settings.account.relay': 'Relay',
  'settings.account.name': 'Konto',
  'settings.account.nameAndPlan': '{name}, Tarif {plan}',
  'settings.account.key': 'API-Schlüssel',
  'settings.signOut': 'Abmelden',
  'settings.signOut.hint':
    'Beim Abmelden werden Ihre Tunnel geschlossen, und dieser Computer vergisst den Schlüssel.',
  'settings.about': 'Über Culvert und Lizenzen',
  'settings.documentation': 'Dokumentation',
  'settings.quit': 'Culvert beenden',
  'about.title': 'Über Culvert',
  'about.source': 'Quelltext',
  'about.releases': 'Alle Versionen',
  'about.versions': 'Versionen',
  'about.licences': 'Lizenzen',
};
