import type { JSX } from 'preact';
import type { SignatureView } from '../../../engine/webhooks/verdict.ts';
import { signatureMark, signatureTone } from '../../model/signature.ts';

/** What a signature says, on a line of the log; nothing where none was checked. */
export function SignatureMark({ signature }: { signature: SignatureView | undefined }): JSX.Element | null {
  const mark = signature && signatureMark(signature);
  if (signature === undefined || mark === undefined) return null;
  return <span class={`signature-mark verdict-${signatureTone(signature)}`}>{mark} </span>;
}
