import type { Translation } from '../translation.ts';
import type { SIGN_IN } from '../en/sign-in.ts';

export const SIGN_IN_DE: Translation<typeof SIGN_IN> = {
  'invitation.signedInTo': 'Bei {host} angemeldet.',
  'invitation.notNow': 'Nicht jetzt',
  'signIn.signingIn': 'Anmeldung läuft …',
  'signIn.signIn': 'Anmelden',
  'invitation.to': 'Eine Einladung zu <b>{host}</b>',
  'invitation.asking': 'Das Relay wird gefragt, für wen sie ist …',
  'invitation.explained':
    'Diese Einladung gibt diesem Computer einen eigenen Schlüssel. Nehmen Sie sie nur an, wenn Sie sie erwartet haben: Wer das Relay betreibt, kann sehen, was dort durch Ihre Tunnel geht.',
  'invitation.another': 'Sie sind dort schon angemeldet: Damit bekommen Sie einen weiteren Schlüssel.',
  'signIn.keepKey': 'Aufbewahrung des Schlüssels',
  'signIn.notEncrypted':
    'Dieses System kann ihn nicht verschlüsselt speichern. Er wird nur gespeichert, wenn Sie es verlangen.',
  'signIn.isInvitation': 'Das ist eine Einladung: Sie bringt einen Schlüssel mit.',
  'signIn.welcome': 'Bringt einen Port dieses Computers ins Internet, über ein Relay, dem Sie vertrauen.',
  'signIn.noNetwork': 'Dieser Computer hat kein Netz. Verbinden Sie ihn, um sich anzumelden.',
  'signIn.relay': 'Relay',
  'signIn.relayHint':
    'Die Adresse, die Sie bekommen haben, etwa https://relay.example.com, oder eine Einladung',
  'signIn.key': 'API-Schlüssel',
  'signIn.keyHint': 'Er beginnt mit cvt_. Wer das Relay betreibt, kann einen erstellen.',
  'signIn.openInvitation': 'Einladung öffnen',
  'signIn.giveRelay': 'Geben Sie die Adresse Ihres Relays an, etwa https://relay.example.com.',
  'signIn.notRelay': 'Das ist keine Adresse eines Relays. Geben Sie eine wie https://relay.example.com an.',
  'signIn.pasteKey': 'Fügen Sie Ihren API-Schlüssel ein.',
  'signIn.keyBegins': 'Ein API-Schlüssel beginnt mit {prefix}. Das hier ist etwas anderes.',
  'signIn.keyIncomplete':
    'Der Schlüssel ist unvollständig oder hat Zeichen, die kein Schlüssel hat. Kopieren Sie ihn noch einmal.',
  'invitation.signInTo': 'Bei <b>{host}</b> als <b>{account}</b> anmelden?',
  'invitation.leaving':
    'Sie sind bei {host} als {account} angemeldet. Damit werden Sie dort abgemeldet{live, plural, =0 {} one {, und Ihr Tunnel wird geschlossen} other {, und Ihre # Tunnel werden geschlossen}}; das können Sie 8 Sek. lang rückgängig machen.',
  'signIn.keep.system': 'Von diesem System verschlüsselt',
  'signIn.keep.system.hint': 'Sie bleiben angemeldet.',
  'signIn.keep.system.kept': 'Auf diesem Computer aufbewahrt, vom System verschlüsselt.',
  'signIn.keep.session': 'Bis Culvert beendet wird',
  'signIn.keep.session.hint': 'Nichts wird gespeichert; beim nächsten Mal melden Sie sich wieder an.',
  'signIn.keep.session.kept': 'Nur im Speicher. Nach dem Beenden von Culvert melden Sie sich wieder an.',
  'signIn.keep.file': 'In einer einfachen Datei',
  'signIn.keep.file.hint': 'Nicht verschlüsselt: Jedes Programm, das Sie ausführen, kann sie lesen.',
  'signIn.keep.file.kept': 'In einer einfachen Datei, die jedes Programm lesen kann, das Sie ausführen.',
};
