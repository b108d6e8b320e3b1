/** `culvert close`. */
import { apiOf, defineCommand, TUNNEL } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { findTunnel } from './find-tunnel.ts';

export const closeCommand = defineCommand({
  name: 'close',
  operands: { tunnel: TUNNEL },
  summary: 'Close a tunnel',
  options: COMMON,
  examples: { 'culvert close my-app': 'close the tunnel and disconnect its visitors' },
  read: (line) => ({ ...line.operands, ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    await api.closeTunnel(tunnel.id);
    output.out(command.json ? '{"status":"closed"}\n' : `Closed ${tunnel.slug}.\n`);
  },
});
