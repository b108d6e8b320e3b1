/** `culvert start`: opens the tunnels of a `culvert.yml`, and serves them until they end. */
import { nearest } from '../../../shared/help-text.ts';
import { checkLocalHosts, locateFolders } from '../../client/config/project-trust.ts';
import { UsageError } from '../../client/failures.ts';
import { type AnyLine, defineCommand, type Files } from '../command-line/command.ts';
import { COMMON, REQUESTS, WHEN_ONLINE } from '../command-line/options.ts';
import type { ProjectTunnels } from '../serve/run-tunnels.ts';
import { onceOnline, readKeepBodies, refuseRelayPort, serve } from './tunnel-options.ts';

export const startCommand = defineCommand({
  name: 'start',
  operands: { names: { shown: '[NAME…]', count: 'any' } },
  summary: 'Open the tunnels defined in culvert.yml',
  options: {
    Project: ['config', 'allow-other-hosts', 'take-over'],
    'When online': WHEN_ONLINE,
    Requests: REQUESTS,
    ...COMMON,
  },
  meanings: {
    relay:
      'Address of the relay. Default: CULVERT_RELAY, then "relay" in culvert.yml, then the relay you logged in to.',
    open: 'Open each address in a browser.',
    qr: 'Show each address as a QR code.',
    copy: "Copy the address to the terminal's clipboard. This works only with a single tunnel.",
    ui: 'Show the requests and the settings of the tunnels in a browser, at http://127.0.0.1:4040 or the next free port.',
  },
  examples: {
    'culvert start': 'open every tunnel in the nearest culvert.yml',
    'culvert start web': 'open only the tunnel "web"',
    'culvert start web --open': 'open that tunnel and show it in a browser',
  },
  details: `
    The tunnels stay open until you press Ctrl-C, which closes them. The command opens them one after another, and
    waits if the relay limits how many tunnels you can create per minute. If one tunnel closes, the others stay open.

    A tunnel with "keep" opens only if your account can keep its name; your plan limits how many it can. To let the name go, use
    "culvert name release".

    If you already have a live tunnel with a name in culvert.yml, the command takes over that tunnel if no client is
    serving it and it has the same access policy or none. Otherwise, the command asks first; if it is not running in
    a terminal, it exits with code 1 unless you use --take-over. Because a relay shows no passwords, policies with "auth" or "password" never count
    as the same.

    The key from CULVERT_API_KEY or --key is sent to the relay in culvert.yml only if you also specify that relay with
    CULVERT_RELAY, --relay or "culvert login". If culvert.yml belongs to another user, the command uses it only with
    --config.

    With --json, the command prints the same events as "culvert http", each with the "name" of its tunnel. Every
    tunnel has its own "offline" event. If tunnels end with different exit codes, the command exits with the one that comes first in this list: 3, 1, 5, 4, 0.`,
  sections: {
    'culvert.yml': `relay: https://relay.example.com   # optional. The key does not belong here: "culvert login" stores it
tunnels:
  web:                      # the tunnel's label: 1 to 32 letters, digits, hyphens and underscores
    port: 3000              # the only required field
    name: my-app            # this and all following fields work like the options of "culvert http"
    keep: true              # keep the name for your account, with or without a tunnel
    away: Back at nine.     # what visitors read while no client serves the name; includes keep
    domain: app.example.com
    wildcard: true
    hosts: { api: 3001, "*": 3000 }   # ports for hosts such as https://api--my-app.…; includes wildcard
    ttl: 4h
    idle: true
    host_header: local
    local_host: 192.0.2.7   # forwards to another machine; requires --allow-other-hosts
    local_https: true
    upstream: h2            # or h2c, for HTTP/2 without TLS
    wait: 10
    compress: off           # auto, on or off
    keep_bodies: 1MB
    request_header: ["X-Env: dev"]   # one header or a list
    remove_request_header: Cookie    # one name or a list
    response_header: "X-Frame-Options: DENY"
    remove_response_header: [Server, X-Powered-By]
    auth: "ann:\${ANN_PASSWORD}"   # one user or a list; can contain environment variables
    password: \${PASSWORD}    # or true to generate a password
    allow: [10.0.0.0/8, 192.0.2.7]
    links: true
    knock: true
    tokens: [ci, agent: "\${AGENT_TOKEN}"]   # names; the relay makes a token that has no value
    sign_in: ["*@example.com", "group:ops"]  # one rule or a list
    oauth: true             # agents, like --mcp
  docs:
    share: ./public         # shares a folder instead of a port, like "culvert share"
  database:
    port: 5432
    protocol: tcp           # or tls, like "culvert tcp" and "culvert tls"
    remote_port: 20022      # the port of the relay; only for tcp
    proxy_protocol: true
    allow: 203.0.113.7      # the only access field
`,
  },
  read: (line) => readStart(line, line.operands.names),
  run: serve,
});

/**
 * The tunnels of a `culvert.yml`, or some of them by name.
 *
 * @param readProject reads the file that `--config` names, or the nearest
 * @throws UsageError, ProjectFileError
 */
export function readStart(
  line: AnyLine,
  names: readonly string[],
  readProject: Files['readProject'] = (path) => line.files.readProject(path),
): ProjectTunnels {
  const { values } = line;
  const { path, relay, tunnels: all } = readProject(values.config);
  const labels = all.map(({ label }) => label);
  for (const name of names) {
    if (labels.includes(name)) continue;
    const meant = nearest(name, labels);
    const hint = meant === undefined ? `Its tunnels are ${labels.join(', ')}.` : `Did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel named "${name}". ${hint}`);
  }
  const chosen = all.filter(({ label }) => names.length === 0 || names.includes(label));
  const keepBodies = readKeepBodies(values);
  const tunnels = locateFolders(path, chosen).map((tunnel) => ({
    ...tunnel,
    keepBodies: keepBodies ?? tunnel.keepBodies,
  }));
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy can copy only one address. Specify the tunnel, as in "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  const access = line.access(relay && { path, relay });
  for (const { target } of tunnels) refuseRelayPort(access.relay, target);
  return {
    project: path,
    takesOver: values['take-over'] ?? false,
    tunnels,
    onceOnline: onceOnline(values),
    ui: values.ui ?? false,
    ...access,
  };
}
