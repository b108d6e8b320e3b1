/** `culvert close`. */
import { apiOf, defineCommand, TUNNEL } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { findTunnel } from './find-tunnel.ts';

export const closeCommand = defineCommand({
  name: 'close',
  operands: { tunnel: TUNNEL },
  summary: 'Close a tunnel',
  options: { Name: ['keep'], ...COMMON },
  examples: {
    'culvert close my-app': 'close the tunnel and disconnect its visitors',
    'culvert close my-app --keep': 'close it, and keep its name for your account',
  },
  read: (line) => ({ ...line.operands, keep: line.values.keep === true, ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    // First: without room for the name, nothing changes.
    if (command.keep) await api.keepName(tunnel.slug);
    await api.closeTunnel(tunnel.id);
    const kept = command.keep ? ` Your account keeps the name.` : '';
    output.out(command.json ? '{"status":"closed"}\n' : `Closed ${tunnel.slug}.${kept}\n`);
  },
});
