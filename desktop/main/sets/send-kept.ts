/** Requests of a set, sent to the local service of a tunnel another day. */
import { t } from '../../i18n/translate.ts';
import type { SendResult } from '../../shared/bench.ts';
import { localHost } from '../bench/import.ts';
import { CallFailure } from '../failure.ts';
import type { Signatures } from '../signing/signatures.ts';
import type { DeskTunnel } from '../tunnels/desk-tunnel.ts';
import { importedOf, type KeptRequest } from './kept-request.ts';

type Receiving = Pick<DeskTunnel, 'key' | 'form' | 'log' | 'tunnel'>;

/**
 * Brings a kept request into the log of a tunnel, to be looked at, edited and sent. Nothing is sent.
 *
 * @returns its number
 * @throws CallFailure for a tunnel to a folder
 */
export function openKept(tunnel: Receiving, request: KeptRequest): number {
  if (tunnel.form.folder !== undefined)
    throw new CallFailure({ code: 'not-imported', text: t('problem.importFolder') });
  return tunnel.log.add(importedOf(request), localHost(tunnel));
}

/**
 * The same, and sends it, signed anew where the secret of its service is set.
 *
 * @throws CallFailure, ReplayRefused
 */
export async function sendKept(
  tunnel: Receiving,
  request: KeptRequest,
  signatures: Pick<Signatures, 'replayKept'>,
): Promise<Extract<SendResult, { sent: unknown }>> {
  const id = await signatures.replayKept(tunnel, openKept(tunnel, request));
  return { sent: { id, status: tunnel.log.detail(id, false)?.status } };
}
