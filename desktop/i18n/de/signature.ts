import type { Translation } from '../translation.ts';
import type { SIGNATURE } from '../en/signature.ts';

export const SIGNATURE_DE: Translation<typeof SIGNATURE> = {
  'secrets.set': 'Das Geheimnis ist gesetzt.',
  'secrets.removed': 'Das Geheimnis ist entfernt.',
  'secrets.title': 'Geheimnisse',
  'secrets.newest': 'Das neueste',
  'secrets.earlier': 'Ein früheres',
  'secrets.setAt': 'gesetzt {moment}',
  'secrets.removeSetAt': 'Das Geheimnis entfernen, das {moment} gesetzt wurde',
  'secrets.remove': 'Entfernen',
  'secrets.new': 'Neues Geheimnis',
  'secrets.setIt': 'Setzen',
  'secrets.add': 'Hinzufügen',
  'secrets.staysHere': 'Es bleibt auf diesem Computer.',
  'secrets.keptBySystem': 'Auf diesem Computer aufbewahrt, vom System verschlüsselt.',
  'secrets.inMemory': 'Nur im Speicher, bis Culvert beendet wird.',
  'signature.of': 'Signatur von {name}',
  'signature.sentAgain': 'Signiert und erneut gesendet.',
  'signature.signAndSend': 'Signieren und erneut senden',
  'secrets.count': '{count, plural, one {# Geheimnis} other {# Geheimnisse}}',
  'signature.mark.valid': 'gültig',
  'signature.mark.mismatch': 'ungültig',
  'signature.mark.body-changed': 'verändert',
  'signature.mark.too-old': 'zu alt',
  'signature.mark.too-new': 'zu neu',
  'signature.mark.malformed': 'unlesbar',
  'signature.mark.unsigned': 'unsigniert',
  'signature.secret.stripe': 'Signing secret',
  'signature.secret.stripe.hint': 'Im Dashboard von Stripe, beim Endpunkt; es beginnt mit whsec_.',
  'signature.secret.github': 'Secret',
  'signature.secret.github.hint':
    'Was als Secret eingegeben wurde, als der Webhook bei GitHub eingerichtet wurde.',
  'signature.secret.slack': 'Signing Secret',
  'signature.secret.slack.hint': 'In den Einstellungen der Slack-App, unter „Basic Information“.',
  'signature.secret.shopify': 'Client-Secret',
  'signature.secret.shopify.hint': 'Das der Shopify-App; bei eigenen Webhooks eines Shops unter deren Liste.',
  'signature.secret.twilio': 'Auth-Token',
  'signature.secret.twilio.hint': 'Des Twilio-Kontos oder Unterkontos.',
  'signature.secret.standard': 'Signing Secret',
  'signature.secret.standard.hint': 'Von dem, der den Webhook sendet; es beginnt mit whsec_.',
  'signature.verdict.valid': 'Gültig: mit dem Geheimnis für diesen Body erstellt.',
  'signature.verdict.mismatch':
    'Sie passt nicht: Sie wurde mit einem anderen Geheimnis oder für einen anderen Body erstellt.',
  'signature.verdict.body-changed':
    'Der Body wurde verändert: Die Signatur passt zur Adresse, aber nicht zum Body.',
  'signature.verdict.too-old':
    'Zu alt: Sie passt, wurde aber mehr als 5 Minuten vor der Anfrage erstellt. Empfänger lehnen das ab.',
  'signature.verdict.too-new':
    'Zu neu: Sie passt, nennt aber eine Zeit mehr als 5 Minuten nach der Anfrage. Prüfen Sie die Uhr dieses Computers.',
  'signature.verdict.malformed':
    'Sie ist unvollständig oder nicht so geschrieben, wie ihr Dienst sie schreibt.',
  'signature.verdict.unsigned': 'Es gibt keine: Beim Webhook wurde kein Geheimnis gesetzt.',
  'signature.verdict.no-secret': 'Nicht geprüft: Culvert kennt das Geheimnis nicht.',
  'signature.verdict.body-cut': 'Nicht geprüft: Nur der Anfang des Bodys ist da.',
};
