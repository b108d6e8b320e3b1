/** `culvert http`: opens a tunnel to a local port, and serves it until it ends. */
import { defineCommand } from '../command-line/command.ts';
import { EXIT_CODES } from '../command-line/help.ts';
import { HTTP_OPTIONS, PORT_OPERAND, readService, readTarget, serve, withPort } from './tunnel-options.ts';

const EVENTS = `{"event":"online","tunnel":{…}}
    Visitors can reach the port. This event is sent first and after each reconnect. It contains "password" if
    --password generated one. The first one contains the new tokens of --token, as "access.tokens[].token".
{"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
    The connection to the relay was lost.
{"event":"problem","code":"local-refused","message":"…"}
    A visitor could not be served, but the tunnel stays open. Codes: local-refused, local-reset, local-malformed,
    local-not-http2, local-no-websocket, local-busy, local-slow, host-blocked, path-cookie, visitor-gone,
    data-refused, data-failed, too-many-connections. Each code is reported at most once a second; "left_out" is the
    number of problems since the previous event that were not reported.
{"event":"knock","tunnel":"ID","id":"KNOCK","address":"…","agent":"…","at":"…"}
    A visitor is asking for access and will wait for up to 5 minutes. To respond, run
    "culvert knock ID KNOCK --admit" or --refuse.
{"event":"expiring","in_seconds":600,"expires_at":"…"}
    The tunnel will expire soon. This event is sent 10 minutes and 2 minutes before the tunnel expires. It contains
    "message" if the command tries to extend the tunnel and that fails; otherwise run "culvert extend ID".
{"event":"offline","reason":"stopped","message":"…"}
    The tunnel is offline and no more events will follow. Reasons: stopped, closed, expired, gone, replaced,
    key-refused, refused, failed.
`;

export const httpCommand = defineCommand({
  name: 'http',
  operands: { port: PORT_OPERAND },
  summary: 'Open a tunnel to a local port',
  options: HTTP_OPTIONS,
  examples: {
    'culvert http 3000': 'open a tunnel with a random name',
    'culvert 3000': 'do the same with a shorter command',
    'culvert http 3000 --name my-app': 'use https://my-app.… as the address, if your plan allows names',
    'culvert http 3000 --password': 'protect it with a generated password',
    'culvert http 3000 --token agent': 'admit only programs that send a token',
    'culvert http 3000 --auth ann --allow 10.0.0.0/8': 'require a login and allow only one network',
    'culvert http 5173 --host-header local':
      'open a tunnel to a development server that rejects unknown hosts',
    'culvert http https://localhost:8443': 'forward to a local port that uses HTTPS',
    'culvert http 50051 --upstream h2c': 'open a tunnel to a gRPC server',
    'culvert http 3000 --response-header X-Frame-Options:DENY': 'set a header of every response',
    'culvert http 3000 --relay https://relay.example.com': "ask for this relay's API key first, and store it",
  },
  details: `
    The tunnel stays open until you press Ctrl-C, which closes it. Instead of PORT, you can give the address
    that a development server prints, such as http://localhost:3000.

    By default, anyone with the address can visit the tunnel. If you combine access options, visitors need to
    satisfy only one of them. --allow applies in addition. If you use --password without a value, put it last.

    If you already have a live tunnel with the name in --name, the command takes over that tunnel and keeps its
    address. If another client is serving that tunnel, the command asks first; if it is not running in a terminal, it
    exits with code 1.

    Unless you give --ttl or --idle, the command extends the tunnel before it expires, for as long as it runs.

    Before the first tunnel, --relay can be the address of a relay or an invitation. In a terminal, the command asks for the
    key or accepts the invitation, and stores the key like "culvert login".

    In a terminal, press ? to see the keyboard shortcuts. With --ui, or after you press w, the command shows its
    requests in a browser. The link works once; only a browser that has opened a link can use the window.`,
  sections: { 'Events of --json, one per line': EVENTS, 'Exit codes': EXIT_CODES },
  read(line) {
    const { port, ...service } = readTarget(line, line.operands.port);
    return withPort(readService(line, service, 0), port);
  },
  run: serve,
});
