/** The options of commands that open tunnels, and how such a command begins. */
import v8 from 'node:v8';
import { DOMAIN_RULE } from '../../../shared/domains.ts';
import { limitOldGeneration, limitYoungGeneration } from '../../../shared/heap.ts';
import {
  COMPRESS_RULE,
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  parsePort,
  PORT_RULE,
} from '../../../shared/value-rules.ts';
import { isWildcardDomain } from '../../../shared/wildcard-hosts.ts';
import {
  KEEP_BODIES_RULE,
  parseSize,
  SPEC_DEFAULTS,
  hostsOf,
  type TunnelTarget,
  WAIT_RULE,
} from '../../client/config/tunnel-spec.ts';
import { type ExitCode, UsageError } from '../../client/failures.ts';
import { isLoopback } from '../../client/network/dial.ts';
import type { LocalTarget, RawProtocol } from '../../client/local/local-service.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { readAccessOptions } from '../command-line/access-options.ts';
import type { CommandContext, AnyLine, Operand } from '../command-line/command.ts';
import { ACCESS_POLICY, COMMON, HEADERS, REQUESTS, WHEN_ONLINE } from '../command-line/options.ts';
import {
  parseTarget,
  readHeaders,
  readOption,
  readRehearsal,
  readSeconds,
  readUpstream,
  type Target,
  type Values,
} from '../command-line/parse.ts';
import type { HttpTunnel, ProjectTunnels } from '../serve/run-tunnels.ts';
import type { OnceOnline } from '../view/once-online.ts';
import { completeLogin, readAccessOrLogin } from './login.ts';

export const PORT_OPERAND = {
  shown: 'PORT',
  missing: `PORT is missing. The local port must be ${PORT_RULE.accepted}.`,
} as const satisfies Operand;

export const ADDRESS = ['name', 'domain', 'wildcard', 'ttl', 'idle'] as const;

const LOCAL_SERVICE = ['host-header', 'local-host', 'local-https', 'upstream', 'wait', 'compress'] as const;

/** Options of the commands that forward to a local port. */
export const HTTP_OPTIONS = {
  Address: ADDRESS,
  'Local service': LOCAL_SERVICE,
  Headers: HEADERS,
  Access: ACCESS_POLICY,
  'When online': WHEN_ONLINE,
  Requests: REQUESTS,
  Rehearsal: ['fail', 'delay'] as const,
  ...COMMON,
};

/** Options of the commands whose tunnels carry bytes instead of HTTP, except those of the address. */
export const RAW_OPTIONS = {
  'Local service': ['local-host', 'wait', 'proxy-protocol'],
  Access: ['allow'],
  'When online': ['qr', 'copy', 'ui'],
  ...COMMON,
} as const;

/** What such options mean there. */
export const RAW_MEANINGS = {
  allow:
    'Admit only connections from this address or network, such as 192.0.2.7 or 10.0.0.0/8. You can repeat this option.',
  wait: 'How many seconds (0 to 60) connections wait if nothing is listening on the port, for example during a restart. Default: 0.',
  ui: 'Show the connections and the settings of the tunnel in a browser, at http://127.0.0.1:4040 or the next free port.',
} as const;

/** The limits of the heap come before anything else is loaded. */
export function limitHeap(): void {
  limitYoungGeneration(process, v8.setFlagsFromString);
  limitOldGeneration(process.execArgv, v8);
}

/** Signs in if that has to come first, and serves the tunnels until they end. */
export async function serve(given: HttpTunnel | ProjectTunnels, context: CommandContext): Promise<ExitCode> {
  limitHeap();
  const complete = 'project' in given ? given : await completeLogin(given, context);
  const { openTunnels } = await import('../serve/run-tunnels.ts');
  return openTunnels(complete, context);
}

/** A tunnel to a local service whose port is not known yet. */
export interface ServiceTunnel extends Omit<HttpTunnel, 'tunnel'> {
  readonly tunnel: Omit<HttpTunnel['tunnel'], 'target'>;
  readonly service: Omit<LocalTarget, 'port'>;
}

/**
 * A tunnel to a local service, from the options of `http`.
 *
 * @param wait seconds to wait for the port, without `--wait`
 * @throws UsageError
 */
export function readService(
  line: AnyLine,
  { host, https }: Omit<Target, 'port'>,
  wait: number,
): ServiceTunnel {
  const { values } = line;
  const wanted = readAccessOptions(values);
  const rehearsal = readRehearsal(values);
  const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), rehearsal, madePassword: wanted.madePassword };
  const service = {
    hostHeader: readOption('host-header', hostHeaderMode(values), HOST_HEADER_RULE) ?? 'keep',
    host: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? host,
    https: values['local-https'] ?? https,
    upstream: readUpstream(values, https),
    waitMs: (readSeconds('wait', values.wait, WAIT_RULE) ?? wait) * 1000,
  };
  const access = readAccessOrLogin(line.accessSources());
  return { tunnel, service, wanted, onceOnline: onceOnline(values), ui: values.ui ?? false, ...access };
}

/**
 * A tunnel that carries bytes instead of HTTP.
 *
 * @param target PORT or HOST:PORT
 * @throws UsageError
 */
export function readRaw(line: AnyLine, target: string, protocol: RawProtocol): HttpTunnel {
  const { 'remote-port': wanted, 'proxy-protocol': proxyProtocol = false } = line.values;
  if (/^https?:/i.test(target))
    throw new UsageError(
      `"${target}" is an address of HTTP. Run "culvert http ${target}", or specify the port.`,
    );
  const { port, ...service } = readTarget(line, target);
  const remotePort = wanted === undefined ? undefined : parsePort(wanted);
  readOption('remote-port', wanted, { ...PORT_RULE, accepts: () => remotePort !== undefined });
  const given = readService(line, service, 0);
  const raw = { protocol, remotePort, proxyProtocol };
  return withPort({ ...given, service: { ...given.service, raw } }, port);
}

/** @throws UsageError */
export function readTarget(line: AnyLine, target: string): Target {
  const parsed = parseTarget(target);
  if (parsed.host !== 'localhost' && line.values['local-host'] !== undefined)
    throw new UsageError(`--local-host and "${target}" both name a host. Leave one of them out.`);
  return parsed;
}

/** @throws UsageError for the relay's own port */
export function withPort({ service, tunnel, ...given }: ServiceTunnel, port: number): HttpTunnel {
  const target = { ...service, port };
  refuseRelayPort(given.relay, target);
  return { ...given, tunnel: { ...tunnel, target } };
}

/**
 * Visitors of such a tunnel would reach the relay instead of a service of the user.
 *
 * @throws UsageError
 */
export function refuseRelayPort(relay: RelayAddress, target: TunnelTarget): void {
  if ('folder' in target) return;
  const ports = [target.port, ...Object.values(hostsOf(target) ?? {})];
  if (!ports.includes(relay.port) || !isLoopback(relay.hostname) || !isLoopback(target.host)) return;
  throw new UsageError(`Port ${relay.port} is the relay's own port. Specify the port of your local service.`);
}

/** The fields of a tunnel that every kind of tunnel has. @throws UsageError */
export function ofAnyTunnel(line: AnyLine) {
  const { name, idle, compress } = line.values;
  const domain = readOption('domain', line.values.domain, DOMAIN_RULE);
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain,
    wildcard: line.values.wildcard ?? isWildcardDomain(domain ?? ''),
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
    compress: readCompressMode(compress) ?? SPEC_DEFAULTS.compress,
    headers: readHeaders(line.values),
    keepBodies: readKeepBodies(line.values) ?? SPEC_DEFAULTS.keepBodies,
  };
}

/** @throws UsageError */
function readCompressMode(mode: string | undefined): CompressMode | undefined {
  return readOption('compress', mode, COMPRESS_RULE) as CompressMode | undefined;
}

/** @returns bytes. @throws UsageError */
export function readKeepBodies({ 'keep-bodies': size }: Values): number | undefined {
  return parseSize(readOption('keep-bodies', size, KEEP_BODIES_RULE) ?? '');
}

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

/** What to do with an address once it is known. */
export function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}
