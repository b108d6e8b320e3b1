/** `culvert list`, `close` and `extend`: one call of the REST interface each; a tunnel is named by id or slug. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { describeAccess } from './access-options.ts';
import type { CloseCommand, ExtendCommand, ListCommand } from './commands.ts';
import { byteSize, jsonLine, localTime, table } from './format.ts';
import type { Output } from './reporter.ts';

/** Thrown for an id or a slug that no live tunnel has. */
export class NoSuchTunnel extends Error {
  constructor(name: string) {
    super(`None of your live tunnels has the id or slug "${name}"; "culvert list" shows them`);
  }
}

export async function runList(command: ListCommand, output: Output): Promise<void> {
  const tunnels = await new ApiClient(command.relay, command.key, command.network).listTunnels();
  if (command.json) output.out(jsonLine({ tunnels }));
  else if (tunnels.length === 0) output.out('No live tunnels.\n');
  else output.out(tunnelTable(tunnels));
}

export async function runClose(command: CloseCommand, output: Output): Promise<void> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
  await api.closeTunnel(tunnel.id);
  output.out(command.json ? '{"status":"closed"}\n' : `Closed ${tunnel.slug}.\n`);
}

export async function runExtend(command: ExtendCommand, output: Output): Promise<void> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const { id } = findTunnel(await api.listTunnels(), command.tunnel);
  const tunnel = await api.extendTunnel(id, command.ttl);
  const text = `${tunnel.slug} now expires ${localTime(tunnel.expires_at)}.`;
  output.out(command.json ? jsonLine(tunnel) : `${text}\n`);
}

/**
 * An id before a slug: a custom name may look like somebody's id.
 *
 * @throws NoSuchTunnel
 */
export function findTunnel(tunnels: readonly Tunnel[], name: string): Tunnel {
  const wanted = name.toLowerCase();
  const tunnel = tunnels.find(({ id }) => id === wanted) ?? tunnels.find(({ slug }) => slug === wanted);
  if (tunnel === undefined) throw new NoSuchTunnel(name);
  return tunnel;
}

function tunnelTable(tunnels: readonly Tunnel[]): string {
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    tunnel.online ? 'online' : 'offline',
    String(tunnel.local_port),
    localTime(tunnel.expires_at),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    describeAccess(tunnel.access) ?? 'everybody',
    tunnel.public_url,
    tunnel.id,
  ]);
  return table([
    ['SLUG', 'STATE', 'PORT', 'EXPIRES', 'REQUESTS', 'IN', 'OUT', 'LETS IN', 'ADDRESS', 'ID'],
    ...rows,
  ]);
}
