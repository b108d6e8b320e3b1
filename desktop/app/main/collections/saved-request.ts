/** Conversion of a logged request to a saved one, with its secrets, and back into a log to be sent. */
import { editable, type ImportedRequest } from '../../../client/inspector/edit.ts';
import type { RequestDetail } from '../../../client/inspector/records.ts';
import { RECORDED_BODY_MAX_BYTES } from '../../../client/limits.ts';
import type { SendResult } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure } from '../failure.ts';
import { localHost } from '../requests.ts';
import type { Signatures } from '../signing.ts';
import type { TunnelItem } from '../tunnels/tunnel-item.ts';

export interface SavedRequest {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  /** in order; values as bytes, a character each */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** base64 */
  readonly body: string;
}

const SWITCHING_PROTOCOLS = 101;

/**
 * @param id its id in the collection
 * @param detail with its secrets
 * @throws CallFailure for a request that was not recorded in full or cannot be replayed
 */
export function savedRequest(id: string, detail: RequestDetail): SavedRequest {
  if (detail.status === SWITCHING_PROTOCOLS)
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptUpgrade', { id: detail.id }) });
  if (detail.request.isTruncated || detail.request.body.length > RECORDED_BODY_MAX_BYTES) {
    const values = { id: detail.id, max: RECORDED_BODY_MAX_BYTES / 1024 };
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptCut', values) });
  }
  if (!isWhole(detail))
    throw new CallFailure({ code: 'not-kept', text: t('problem.keptOpen', { id: detail.id }) });
  const { method, target, fields } = editable(detail);
  return { id, method, target, fields, body: Buffer.from(detail.request.body).toString('base64') };
}

/** Whether all of its body has come: the local service may have answered, or broken off, before that. */
function isWhole({ request: { fields, body }, durationMs, isBroken }: RequestDetail): boolean {
  const value = (wanted: string): string | undefined =>
    fields.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const length = value('content-length');
  if (length !== undefined) return body.length === Number(length);
  return value('transfer-encoding') === undefined || (durationMs !== undefined && !isBroken);
}

/** Converts a saved request for a log. */
export function importedOf({ method, target, fields, body }: SavedRequest): ImportedRequest {
  return {
    method,
    target,
    fields,
    body: Buffer.from(body, 'base64'),
    isCut: false,
    response: undefined,
  };
}

/* Requests of a set, sent to the local service of a tunnel another day. */

type Receiving = Pick<TunnelItem, 'key' | 'form' | 'log' | 'tunnel'>;

/**
 * Adds a saved request to the log of a tunnel for viewing and editing. Nothing is sent.
 *
 * @returns its number
 * @throws CallFailure for a tunnel to a folder
 */
export function openSaved(tunnel: Receiving, request: SavedRequest): number {
  requirePort(tunnel);
  return tunnel.log.add(importedOf(request), localHost(tunnel));
}

/**
 * Sends a saved request, signed again if the secret of its service is set. The log shows it with its response.
 *
 * @throws CallFailure for a tunnel to a folder; ReplayRefused
 */
export async function sendSaved(
  tunnel: Receiving,
  request: SavedRequest,
  signatures: Pick<Signatures, 'send'>,
): Promise<Extract<SendResult, { sent: unknown }>> {
  requirePort(tunnel);
  const id = await signatures.send(tunnel, importedOf(request), localHost(tunnel));
  return { sent: { id, status: tunnel.log.detail(id, false)?.status } };
}

function requirePort({ form }: Receiving): void {
  if (form.folder !== undefined)
    throw new CallFailure({ code: 'not-imported', text: t('problem.importFolder') });
}
