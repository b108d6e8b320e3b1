/** `culvert list`, `close` and `extend`: one call of the REST interface each; a tunnel is named by id or slug. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { byteSize } from '../client/inspector/readable.ts';
import { describeAccess } from './access-options.ts';
import { apiOf, defineCommand } from './command.ts';
import { jsonLine, localTime, table } from './format.ts';
import { COMMON } from './options.ts';

export const listCommand = defineCommand({
  name: 'list',
  operands: '',
  summary: 'List your tunnels',
  options: COMMON,
  examples: {
    'culvert list': "show each tunnel's state, traffic and address",
    'culvert list --json': 'print the list as JSON',
  },
  read: (line) => line.accessAlone(),
  async run(command, { output }) {
    const tunnels = await apiOf(command).listTunnels();
    if (command.json) output.out(jsonLine({ tunnels }));
    else if (tunnels.length === 0) output.out('No live tunnels.\n');
    else output.out(tunnelTable(tunnels));
  },
});

export const closeCommand = defineCommand({
  name: 'close',
  operands: 'ID|SLUG',
  summary: 'Close a tunnel',
  options: COMMON,
  examples: { 'culvert close my-app': 'close the tunnel and disconnect its visitors' },
  read: (line) => ({ tunnel: line.tunnelName(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    await api.closeTunnel(tunnel.id);
    output.out(command.json ? '{"status":"closed"}\n' : `Closed ${tunnel.slug}.\n`);
  },
});

export const extendCommand = defineCommand({
  name: 'extend',
  operands: 'ID|SLUG',
  summary: 'Extend a tunnel',
  options: { Extension: ['ttl'], ...COMMON },
  meanings: { ttl: "How much time to add, such as 30m or 4h. Default: the tunnel's own time to live." },
  examples: {
    'culvert extend my-app': 'extend the tunnel by its own time to live',
    'culvert extend my-app --ttl 4h': 'extend the tunnel by four hours',
  },
  read: (line) => ({ tunnel: line.tunnelName(), ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const { id } = findTunnel(await api.listTunnels(), command.tunnel);
    const tunnel = await api.extendTunnel(id, command.ttl);
    const text = `${tunnel.slug} now expires ${localTime(tunnel.expires_at)}.`;
    output.out(command.json ? jsonLine(tunnel) : `${text}\n`);
  },
});

/** Thrown for an id or a slug that no live tunnel has. */
export class NoSuchTunnel extends Error {
  constructor(name: string) {
    super(`None of your live tunnels has the id or slug "${name}". "culvert list" shows your tunnels`);
  }
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
  // Most accounts have one person.
  const isShared = tunnels.some(({ created_by: by }) => by !== null);
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    ...(isShared ? [tunnel.created_by ?? '-'] : []),
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
  const titles = ['STATE', 'PORT', 'EXPIRES', 'REQUESTS', 'IN', 'OUT', 'LETS IN', 'ADDRESS', 'ID'];
  return table([['SLUG', ...(isShared ? ['BY'] : []), ...titles], ...rows]);
}
