/** The command lines that open tunnels: `culvert http`, `share` and `start`. */
import { DOMAIN_RULE } from '../../../shared/domain-rules.ts';
import { nearest } from '../../../shared/nearest.ts';
import { HOST_HEADER_RULE, LOCAL_HOST_RULE, NAME_RULE, PORT_RULE } from '../../../shared/value-rules.ts';
import { locateFolders } from '../../config/project-folders.ts';
import { checkLocalHosts } from '../../config/project-trust.ts';
import { SPEC_DEFAULTS, WAIT_RULE } from '../../config/tunnel-spec.ts';
import { readAccessOptions } from '../access-options.ts';
import { UsageError } from '../usage-error.ts';
import type { OnceOnline } from '../view/once-online.ts';
import type { CommandLine } from './command-line.ts';
import type { HttpCommand, StartCommand } from './commands.ts';
import { readOption, readSeconds, type Values } from './parse.ts';
import { parseTarget, type Target } from './target.ts';

/** @throws UsageError */
export function readHttp(line: CommandLine): HttpCommand {
  const { values } = line;
  const wanted = readAccessOptions(values);
  const { port, host, https } = readTarget(line);
  const tunnel = {
    ...SPEC_DEFAULTS,
    ...ofAnyTunnel(line),
    port,
    hostHeader:
      readOption('host-header', hostHeaderMode(values), HOST_HEADER_RULE) ?? SPEC_DEFAULTS.hostHeader,
    localHost: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? host,
    localHttps: values['local-https'] ?? https,
    wait: readSeconds('wait', values.wait, WAIT_RULE) ?? SPEC_DEFAULTS.wait,
    madePassword: wanted.madePassword,
  };
  return { command: 'http', tunnel, wanted, onceOnline: onceOnline(values), ...line.access() };
}

/** @throws UsageError */
export function readShare(line: CommandLine): HttpCommand {
  line.atMost(1);
  const [folder = ''] = line.operands;
  if (folder === '') {
    line.checkPassword('FOLDER is missing');
    throw new UsageError('FOLDER is missing: say which folder to share.');
  }
  const wanted = readAccessOptions(line.values);
  const { madePassword } = wanted;
  const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), port: 0, folder, madePassword };
  return { command: 'http', tunnel, wanted, onceOnline: onceOnline(line.values), ...line.access() };
}

/** @throws UsageError, ProjectFileError */
export function readStart(line: CommandLine): StartCommand {
  const { operands, values, files } = line;
  const { path, relay, tunnels: all } = files.readProject(values.config);
  const labels = all.map(({ label }) => label);
  for (const name of operands) {
    if (labels.includes(name)) continue;
    const meant = nearest(name, labels);
    const hint = meant === undefined ? `there are ${labels.join(', ')}` : `did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel "${name}"; ${hint}`);
  }
  const chosen = all.filter(({ label }) => operands.length === 0 || operands.includes(label));
  const tunnels = locateFolders(path, chosen);
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy copies one address: say of which tunnel, as "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  return {
    command: 'start',
    project: path,
    tunnels,
    onceOnline: onceOnline(values),
    ...line.access(relay && { path, relay }),
  };
}

function ofAnyTunnel(line: CommandLine) {
  const { name, domain, idle } = line.values;
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain: readOption('domain', domain, DOMAIN_RULE),
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
  };
}

function readTarget(line: CommandLine): Target {
  line.atMost(1);
  const [target] = line.operands;
  if (target === undefined) {
    line.checkPassword('PORT is missing');
    throw new UsageError(`PORT is missing: give the local port as ${PORT_RULE.accepted}.`);
  }
  const parsed = parseTarget(target);
  if (parsed.host !== 'localhost' && line.values['local-host'] !== undefined)
    throw new UsageError(`--local-host and "${target}" both name a host: leave one of them out.`);
  return parsed;
}

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}
