/** Words for the signature of a webhook. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { REDACTED } from '../../../../shared/version.ts';
import type { SignatureView, Verdict } from '../../../client/inspector/records.ts';
import type { Imported, WrittenHar } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';

/** How it is shown in addition to its words. */
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

/** A log line shows nothing if nothing could be checked. */
type Marked = Exclude<Verdict, 'no-secret' | 'body-cut'>;

export function signatureTone({ verdict }: SignatureView): SignatureTone {
  return TONES[verdict];
}

/** A word or two for the log; `undefined` if nothing could be checked. */
export function signatureMark({ verdict }: SignatureView): string | undefined {
  return isMarked(verdict) ? t(`signature.mark.${verdict}`) : undefined;
}

/** The provider's name for the secret, and where to find it. */
export function secretWords({ provider }: SignatureView): { label: string; hint: string } {
  return { label: t(`signature.secret.${provider}`), hint: t(`signature.secret.${provider}.hint`) };
}

/** The verdict in full. */
export function signatureWords({ verdict }: SignatureView): string {
  return t(`signature.verdict.${verdict}`);
}

function isMarked(verdict: Verdict): verdict is Marked {
  return verdict !== 'no-secret' && verdict !== 'body-cut';
}

/** The number of left out requests that are listed. */
const MOST_LEFT_OUT = 5;

/** The number of imported requests, followed by further notes, one sentence each. */
export function importedWords({ ids, leftOut, hasRedacted }: Imported): readonly string[] {
  const more = leftOut.length - MOST_LEFT_OUT;
  return [
    t('import.done', { count: ids.length }),
    ...leftOut.slice(0, MOST_LEFT_OUT).map((text) => escapeUnprintable(text)),
    ...(more > 0 ? [t('import.moreLeftOut', { count: more })] : []),
    ...(hasRedacted ? [t('import.redacted', { mark: REDACTED })] : []),
  ];
}

/** The number of written requests, and the file. */
export function writtenText({ path, count, missing, hidesSecrets }: WrittenHar): string {
  return t('log.harWritten', {
    count,
    path: escapeUnprintable(path),
    hidesSecrets: String(hidesSecrets),
    missing,
  });
}
