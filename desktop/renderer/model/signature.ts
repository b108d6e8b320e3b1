/** What the signature of a webhook says, in words. */
import { t } from '../../i18n/translate.ts';
import type { SignatureView, Verdict } from '../../engine/webhooks/verdict.ts';

/** How it is shown besides its words. */
export type SignatureTone = 'good' | 'bad' | 'open';

const TONES: Readonly<Record<Verdict, SignatureTone>> = {
  valid: 'good',
  mismatch: 'bad',
  'body-changed': 'bad',
  'too-old': 'bad',
  'too-new': 'bad',
  malformed: 'bad',
  unsigned: 'bad',
  'no-secret': 'open',
  'body-cut': 'open',
};

/** Where nothing could be checked, a line of the log says nothing. */
type Marked = Exclude<Verdict, 'no-secret' | 'body-cut'>;

export function signatureTone({ verdict }: SignatureView): SignatureTone {
  return TONES[verdict];
}

/** A word or two for the log; `undefined` where nothing could be checked. */
export function signatureMark({ verdict }: SignatureView): string | undefined {
  return isMarked(verdict) ? t(`signature.mark.${verdict}`) : undefined;
}

/** What the secret is called where people find it, and where that is. */
export function secretWords({ provider }: SignatureView): { label: string; hint: string } {
  return { label: t(`signature.secret.${provider}`), hint: t(`signature.secret.${provider}.hint`) };
}

/** All there is to say about it. */
export function signatureWords({ verdict }: SignatureView): string {
  return t(`signature.verdict.${verdict}`);
}

function isMarked(verdict: Verdict): verdict is Marked {
  return verdict !== 'no-secret' && verdict !== 'body-cut';
}
