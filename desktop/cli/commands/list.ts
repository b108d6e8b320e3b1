/** `culvert list`: the live tunnels of the account. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import { byteSize } from '../../client/inspector/readable.ts';
import { accessText } from '../command-line/access-options.ts';
import { apiOf, defineCommand } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { fittingTable, jsonLine, localTime } from '../output/format.ts';

export const listCommand = defineCommand({
  name: 'list',
  summary: 'List your tunnels',
  options: COMMON,
  examples: {
    'culvert list': "show each tunnel's state, traffic and address",
    'culvert list --json': 'print the list as JSON, with what a narrow terminal leaves out',
  },
  read: (line) => line.access(),
  async run(command, { output }) {
    const tunnels = await apiOf(command).listTunnels();
    if (command.json) output.out(jsonLine({ tunnels }));
    else if (tunnels.length === 0) output.out('No live tunnels.\n');
    else output.out(tunnelTable(tunnels, output.columns));
  },
});

/** What is left out first where a terminal has no room. */
const LEAST = ['ID', 'OUT', 'IN', 'EXPIRES', 'REQUESTS', 'ACCESS', 'BY', 'PORT'];

function tunnelTable(tunnels: readonly Tunnel[], columns: number | undefined): string {
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
    accessText(tunnel.access),
    tunnel.public_url,
    tunnel.id,
  ]);
  const titles = ['STATE', 'PORT', 'EXPIRES', 'REQUESTS', 'IN', 'OUT', 'ACCESS', 'ADDRESS', 'ID'];
  return fittingTable(['SLUG', ...(isShared ? ['BY'] : []), ...titles], rows, LEAST, columns);
}
