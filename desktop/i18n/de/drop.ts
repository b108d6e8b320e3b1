import type { Translation } from '../translation.ts';
import type { DROP } from '../en/drop.ts';

export const DROP_DE: Translation<typeof DROP> = {
  'drop.question': 'Den Ordner <b>{name}</b> teilen?',
  'drop.explained':
    'Eine Stunde lang kann ihn jeder lesen, der die Adresse hat. Besucher bekommen die index.html eines Ordners oder eine Liste dessen, was darin ist. Namen, die mit einem Punkt beginnen, gibt es für sie nicht, ebenso wenig Links, die aus dem Ordner hinausführen. Ändern lässt sich nichts.',
  'drop.shared': 'Der Ordner {name} ist geteilt.',
  'drop.cannot': 'Das lässt sich nicht teilen',
  'drop.share': 'Für 1 Std. teilen',
  'drop.sharing': 'Wird geteilt …',
};
