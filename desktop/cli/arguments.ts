/** Reads the command line of `culvert`, and says what is wrong with it before a relay is asked. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../shared/duration.ts';
import {
  API_KEY_PATTERN,
  API_KEY_PREFIX,
  LOCAL_PORT_MAX,
  LOCAL_PORT_MIN,
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_PATTERN,
  TTL_MIN_SECONDS,
} from '../../shared/tunnel.ts';
import { parseRelayAddress, type RelayAddress, RelayAddressError } from '../engine/relay-address.ts';
import { ExitCode } from './exit-code.ts';

export const DEFAULT_RELAY = 'http://localhost:8080';

/** Which relay to talk to, and how to print. */
export interface Access {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly json: boolean;
}

export interface HttpCommand extends Access {
  readonly command: 'http';
  readonly port: number;
  readonly name: string | undefined;
  readonly ttl: string | undefined;
  readonly idle: boolean;
}
export interface ListCommand extends Access {
  readonly command: 'list';
}
export interface CloseCommand extends Access {
  readonly command: 'close';
  /** id or slug */
  readonly tunnel: string;
}
export interface ExtendCommand extends Access {
  readonly command: 'extend';
  /** id or slug */
  readonly tunnel: string;
  readonly ttl: string | undefined;
}
export type Command =
  HttpCommand | ListCommand | CloseCommand | ExtendCommand | { readonly command: 'help' | 'version' };

/** A command line that cannot be carried out; the message names the field and what it takes. */
export class UsageError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = ExitCode.usage) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

const OPTIONS = {
  relay: { type: 'string' },
  key: { type: 'string' },
  name: { type: 'string' },
  ttl: { type: 'string' },
  idle: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

type Values = ReturnType<typeof parse>['values'];
type Environment = Readonly<Record<string, string | undefined>>;

/** Options of a command besides those every command takes. */
const OWN_OPTIONS = { http: ['name', 'ttl', 'idle'], list: [], close: [], extend: ['ttl'] } as const;

/**
 * @param args the words behind `culvert`
 * @throws UsageError
 */
export function readArguments(args: readonly string[], env: Environment): Command {
  const { values, positionals } = parse(args);
  const [command, operand, ...more] = positionals;
  if (values.help === true || command === 'help') return { command: 'help' };
  if (values.version === true) return { command: 'version' };
  if (command === undefined) throw new UsageError('Say what to do: http, list, close or extend.');
  if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is more than "culvert ${command}" takes.`);
  switch (command) {
    case 'http':
      refuseForeign(values, command);
      return {
        command,
        port: readPort(operand),
        name: readName(values.name),
        ttl: readTtl(values.ttl),
        idle: values.idle ?? false,
        ...readAccess(values, env),
      };
    case 'list':
      refuseForeign(values, command);
      if (operand !== undefined) throw new UsageError(`"${operand}" is more than "culvert list" takes.`);
      return { command, ...readAccess(values, env) };
    case 'close':
      refuseForeign(values, command);
      return { command, tunnel: readTunnelName(operand, command), ...readAccess(values, env) };
    case 'extend':
      refuseForeign(values, command);
      return {
        command,
        tunnel: readTunnelName(operand, command),
        ttl: readTtl(values.ttl),
        ...readAccess(values, env),
      };
    default:
      throw new UsageError(`There is no command "${command}"; there are http, list, close and extend.`);
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // The first sentence names the option; the rest explains the parser.
    const text = error instanceof Error ? error.message.split('. ', 1)[0] : String(error);
    throw new UsageError(`${text ?? ''}.`);
  }
}

function refuseForeign(values: Values, command: keyof typeof OWN_OPTIONS): void {
  const own: readonly string[] = OWN_OPTIONS[command];
  for (const option of ['name', 'ttl', 'idle'] as const) {
    if (values[option] !== undefined && !own.includes(option)) {
      throw new UsageError(`"culvert ${command}" takes no --${option}.`);
    }
  }
}

function readAccess(values: Values, env: Environment): Access {
  const address = values.relay ?? (env['CULVERT_RELAY'] || DEFAULT_RELAY);
  return { relay: readRelay(address), key: readKey(values, env), json: values.json ?? false };
}

function readRelay(text: string): RelayAddress {
  try {
    return parseRelayAddress(text);
  } catch (error) {
    if (!(error instanceof RelayAddressError)) throw error;
    throw new UsageError(`--relay or CULVERT_RELAY: ${error.message}.`);
  }
}

function readKey(values: Values, env: Environment): string {
  const key = values.key ?? env['CULVERT_API_KEY'] ?? '';
  if (key === '') throw new UsageError('No API key: give --key KEY or set CULVERT_API_KEY.');
  if (API_KEY_PATTERN.test(key)) return key;
  // The relay would refuse it, so the outcome is that of a refused key.
  throw new UsageError(
    `The API key is incomplete or damaged: a key is ${API_KEY_PREFIX} and at least 32 letters and digits.`,
    ExitCode.keyRefused,
  );
}

function readPort(text: string | undefined): number {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (port >= LOCAL_PORT_MIN && port <= LOCAL_PORT_MAX) return port;
  const given = text === undefined ? 'PORT is missing' : `PORT "${text}" is no port`;
  throw new UsageError(
    `${given}: give the local port as a whole number from ${LOCAL_PORT_MIN} to ${LOCAL_PORT_MAX}.`,
  );
}

function readName(text: string | undefined): string | undefined {
  if (text === undefined || NAME_PATTERN.test(text)) return text;
  throw new UsageError(
    `--name "${text}" is no tunnel name: it takes ${NAME_MIN_LENGTH} to ${NAME_MAX_LENGTH} lowercase letters, ` +
      'digits and hyphens, not starting or ending with a hyphen, and not starting with xn--.',
  );
}

function readTtl(text: string | undefined): string | undefined {
  if (text === undefined || (parseDuration(text) ?? 0) >= TTL_MIN_SECONDS) return text;
  throw new UsageError(
    `--ttl "${text}" is no duration: give one such as 90s, 30m, 4h or 1h30m, at least 1s.`,
  );
}

function readTunnelName(text: string | undefined, command: string): string {
  if (text !== undefined && text !== '') return text;
  throw new UsageError(`Say which tunnel to ${command}: its id or its slug, as "culvert list" shows them.`);
}
