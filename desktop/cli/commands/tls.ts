/** `culvert tls`: opens a tunnel whose TLS ends at the local service, and serves it until it ends. */
import { defineCommand } from '../command-line/command.ts';
import { PORT_OPERAND, RAW_MEANINGS, RAW_OPTIONS, readRaw, serve } from './tunnel-options.ts';

export const tlsCommand = defineCommand({
  name: 'tls',
  operands: { port: PORT_OPERAND },
  summary: 'Open a tunnel whose TLS ends at your service',
  options: { Address: ['name', 'domain', 'ttl', 'idle'], ...RAW_OPTIONS },
  meanings: {
    ...RAW_MEANINGS,
    domain: 'Use your own domain as the address. Verify it first with "culvert domain".',
  },
  examples: {
    'culvert tls 8443 --name my-app': "use the service's own certificate at my-app.…",
    'culvert tls 8443 --domain app.example.com': 'do the same at your own domain',
    'culvert tls 8883 --allow 10.0.0.0/8': 'allow only one network',
  },
  details: `
    The relay reads only the host name with which a TLS connection begins, and passes on everything else unread. The local
    port must speak TLS, with a certificate for the address of the tunnel. Client certificates and ALPN work between visitor
    and service.

    Only relays that serve TLS themselves have such tunnels, and they have no addresses in the path form.

    Events and exit codes are the same as for "culvert http". The request log shows connections, with their bytes and how
    they ended.`,
  read: (line) => readRaw(line, line.operands.port, 'tls'),
  run: serve,
});
