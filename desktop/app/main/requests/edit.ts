/** Requests that are edited in the window: what it shows of them, and how they are sent. */
import {
  editable,
  editableText,
  EditRefused,
  shownValue,
  writtenValue,
} from '../../../client/inspector/edit.ts';
import type { RequestDetail } from '../../../client/inspector/records.ts';
import type { EditForm, EditView, SendResult, SignatureCheck } from '../../ipc/request-views.ts';
import { translateMessage } from '../../messages/message-text.ts';
import type { Signatures, SignedTunnel } from '../signing/signatures.ts';

/**
 * @param detail without its secrets
 * @param check of its signature
 */
export function editView(detail: RequestDetail, check: SignatureCheck | undefined): EditView {
  const { method, target, fields } = editable(detail);
  const { body, isTruncated } = detail.request;
  return {
    method,
    target,
    fields: fields.map(([name, value]) => [name, shownValue(value)]),
    body: isTruncated ? undefined : editableText(body),
    bodySize: body.length,
    isCut: isTruncated,
    signer: check === undefined || check.secrets.length === 0 ? undefined : check.name,
  };
}

/**
 * Sends a request to the local service as it was edited. What is wrong with it is a result: the window says it where it is.
 *
 * @throws ReplayRefused, CallFailure
 */
export async function sendEdited(
  tunnel: SignedTunnel,
  id: number,
  { method, target, fields, body, signs }: EditForm,
  signatures: Pick<Signatures, 'replayEdited'>,
): Promise<SendResult> {
  const edit = {
    method,
    target,
    fields: fields.map(([name, value]) => [name, writtenValue(value)] as const),
    body: body === null ? undefined : new TextEncoder().encode(body),
  };
  try {
    const sent = await (signs
      ? signatures.replayEdited(tunnel, id, edit)
      : tunnel.log.replayEdited(id, edit));
    return { sent: { id: sent, status: tunnel.log.detail(sent, false)?.status } };
  } catch (error) {
    if (error instanceof EditRefused)
      return { problems: error.problems.map(({ part, said }) => ({ part, text: translateMessage(said) })) };
    throw error;
  }
}
