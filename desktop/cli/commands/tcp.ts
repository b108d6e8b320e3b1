/** `culvert tcp`: opens a tunnel that passes on the bytes of TCP connections, and serves it until it ends. */
import { defineCommand } from '../command-line/command.ts';
import { PORT_OPERAND, RAW_MEANINGS, RAW_OPTIONS, readRaw, serve } from './tunnel-options.ts';

export const tcpCommand = defineCommand({
  name: 'tcp',
  operands: { port: PORT_OPERAND },
  summary: 'Open a tunnel for any protocol over TCP, such as SSH',
  options: { Address: ['remote-port', 'name', 'ttl', 'idle'], ...RAW_OPTIONS },
  meanings: {
    ...RAW_MEANINGS,
    name: 'Name of the tunnel. If you keep it, the tunnel keeps its port too. Default: a random name.',
  },
  examples: {
    'culvert tcp 22': 'let others log in with SSH',
    'culvert tcp 5432 --allow 203.0.113.7': 'let one address connect to a database',
    'culvert tcp 22 --name build-box --remote-port 20022': 'choose the port of the relay',
    'culvert tcp nas:445': 'forward to another machine of your network',
  },
  details: `
    The relay listens on a port and passes on the bytes of each connection. Anyone who can reach that port can connect,
    unless you use --allow, so the service itself must ask for a password or a key. The relay sees the bytes: use a
    protocol that encrypts, such as SSH, or TLS.

    The relay's operator has to turn on TCP tunnels, and your plan limits how many you can have.

    Events and exit codes are the same as for "culvert http". The request log shows connections, with their bytes and how
    they ended.`,
  read: (line) => readRaw(line, line.operands.port, 'tcp'),
  run: serve,
});
