/** `culvert extend`. */
import { apiOf, defineCommand, TUNNEL } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { jsonLine, localTime } from '../output/format.ts';
import { findTunnel } from './find-tunnel.ts';

export const extendCommand = defineCommand({
  name: 'extend',
  operands: { tunnel: TUNNEL },
  summary: 'Extend a tunnel',
  options: { Extension: ['ttl'], ...COMMON },
  meanings: { ttl: "How much time to add, such as 30m or 4h. Default: the tunnel's own time to live." },
  examples: {
    'culvert extend my-app': 'extend the tunnel by its own time to live',
    'culvert extend my-app --ttl 4h': 'extend the tunnel by four hours',
  },
  read: (line) => ({ ...line.operands, ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const { id } = findTunnel(await api.listTunnels(), command.tunnel);
    const tunnel = await api.extendTunnel(id, command.ttl);
    const text = `${tunnel.slug} now expires ${localTime(tunnel.expires_at)}.`;
    output.out(command.json ? jsonLine(tunnel) : `${text}\n`);
  },
});
