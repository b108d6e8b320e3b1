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
  requirePort(tunnel);
  return tunnel.log.add(importedOf(request), localHost(tunnel));
}

/**
 * Sends a kept request, signed anew where the secret of its service is set. It comes into the log with its response.
 *
 * @throws CallFailure for a tunnel to a folder; ReplayRefused
 */
export async function sendKept(
  tunnel: Receiving,
  request: KeptRequest,
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
