import type { Translation } from '../translation.ts';
import type { PALETTE } from '../en/palette.ts';

export const PALETTE_DE: Translation<typeof PALETTE> = {
  'palette.found': 'Gefunden',
  'palette.find': 'Tunnel, Anfrage, Port oder Befehl finden',
  'palette.findShort': 'Tunnel, Anfrage, Port oder Befehl',
  'palette.nothing': 'Nichts passt zu „{typed}“.',
  'palette.newTunnelTo': 'Neuer Tunnel zu {port}',
  'palette.requestsTo': 'Anfragen an {slug}',
  'palette.requestsWith': 'Anfragen an {slug} mit „{typed}“',
  'palette.setsFor': 'Aufbewahrte Anfragen für {slug}',
  'palette.importTo': 'Anfragen in {slug} importieren',
  'palette.startAgain': '{slug} wieder starten',
  'palette.copyAddress': 'Adresse von {slug} kopieren',
  'palette.copied': '{url} ist kopiert.',
  'palette.open': '{slug} öffnen',
  'palette.stop': '{slug} stoppen',
  'palette.new': 'Neuer Tunnel',
  'palette.light': 'Helles Erscheinungsbild',
  'palette.dark': 'Dunkles Erscheinungsbild',
  'palette.system': 'Erscheinungsbild des Systems',
  'palette.about': 'Über Culvert',
  'palette.group.tunnels': 'Tunnel',
  'palette.group.requests': 'Anfragen',
  'palette.group.ports': 'Ports',
  'palette.group.commands': 'Befehle',
  'palette.group.search': 'Suche',
};
