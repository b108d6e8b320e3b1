/** Splits a command line into options and operands, and reads the values of options. */
import { parseArgs } from 'node:util';
import { optionProblem } from '../../../shared/command-options.ts';
import {
  HEADER_NAME_RULE,
  HEADER_RULE,
  type HeaderChanges,
  HEADERS_MAX,
} from '../../../shared/header-changes.ts';
import { nearest } from '../../../shared/help-text.ts';
import {
  LOCAL_HOST_RULE,
  parsePort,
  PORT_RULE,
  type Upstream,
  UPSTREAM_RULE,
  type ValueRule,
} from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import { isLoopback } from '../../client/network/dial.ts';
import { DELAY_RULE, FAIL_RULE, Rehearsal } from '../../client/visitors/rehearsal.ts';
import { type HEADERS, OPTION_TABLE, type OptionName } from './options.ts';

export type Values = ReturnType<typeof parse>['values'];

/** @throws UsageError for an option that does not exist, or lacks its value */
export function parse(args: readonly string[]) {
  refuseSingleHyphens(args);
  const { others, isBare } = takeBarePassword(translateOptions(args));
  const line = { args: others, options: OPTION_TABLE, allowPositionals: true } as const;
  const { tokens } = parseArgs({ ...line, strict: false, tokens: true });
  const wrong = optionProblem(tokens, OPTION_TABLE);
  if (wrong !== undefined) {
    const hint = (wrong.unknown === undefined ? undefined : optionHint(wrong.unknown)) ?? wrong.hint ?? '';
    throw new UsageError(`${wrong.text}. ${hint}`.trimEnd());
  }
  const { values, positionals } = parseArgs(line);
  if (isBare && values.password !== undefined) throw new UsageError('--password is given twice.');
  const bare: { password?: string | true } = isBare ? { password: true } : {};
  return { values: { ...values, ...bare }, positionals };
}

/** Options with one hyphen, as some programs write them. @throws UsageError */
function refuseSingleHyphens(args: readonly string[]): void {
  const end = args.indexOf('--');
  for (const argument of end === -1 ? args : args.slice(0, end)) {
    const [, name = ''] = /^-([a-z][a-z-]+)(?:=.*)?$/s.exec(argument) ?? [];
    if (name === '') continue;
    const meant = Object.hasOwn(SAME_OPTIONS, name)
      ? SAME_OPTIONS[name]
      : nearest(name, Object.keys(OPTION_TABLE));
    const hint =
      optionHint(name) ??
      (meant === undefined ? 'Options begin with two hyphens.' : `Did you mean --${meant}?`);
    throw new UsageError(`Unknown option -${name}. ${hint}`);
  }
}

/** Node's parser has no options whose value may be missing, as that of `--password` may. */
function takeBarePassword(args: readonly string[]): { others: string[]; isBare: boolean } {
  const end = args.indexOf('--');
  const isBarePassword = (argument: string, index: number): boolean =>
    argument === '--password' && (end === -1 || index < end) && (args[index + 1]?.startsWith('-') ?? true);
  const others = args.filter((argument, index) => !isBarePassword(argument, index));
  return { others, isBare: others.length < args.length };
}

/** @throws UsageError for a value that the rule does not accept */
export function readOption(name: OptionName, text: string, rule: ValueRule): string;
export function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined;
export function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined {
  if (text === undefined || rule.accepts(text)) return text;
  throw new UsageError(`--${name} "${text}" is not valid. It must be ${rule.accepted}.`);
}

/** @throws UsageError for something that is not a number, or is not accepted by the rule */
export function readSeconds(name: OptionName, text: string | undefined, rule: ValueRule): number | undefined {
  const seconds = text === undefined || /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  readOption(name, text, { ...rule, accepts: () => rule.accepts(seconds) });
  return text === undefined ? undefined : seconds;
}

/** @throws UsageError */
export function readHeaders(values: Values): HeaderChanges {
  const list = (name: (typeof HEADERS)[number], rule: ValueRule): readonly string[] => {
    const given = values[name] ?? [];
    if (given.length > HEADERS_MAX)
      throw new UsageError(`--${name} can be given at most ${HEADERS_MAX} times.`);
    return given.map((text) => readOption(name, text, rule));
  };
  return {
    requestHeader: list('request-header', HEADER_RULE),
    removeRequestHeader: list('remove-request-header', HEADER_NAME_RULE),
    responseHeader: list('response-header', HEADER_RULE),
    removeResponseHeader: list('remove-response-header', HEADER_NAME_RULE),
  };
}

/** @returns `undefined` without rules. @throws UsageError */
export function readRehearsal({ fail = [], delay = [] }: Values): Rehearsal | undefined {
  for (const rule of fail) readOption('fail', rule, FAIL_RULE);
  for (const rule of delay) readOption('delay', rule, DELAY_RULE);
  return fail.length + delay.length === 0 ? undefined : new Rehearsal([...fail, ...delay]);
}

/**
 * @param https whether the operand is an address of HTTPS
 * @throws UsageError
 */
export function readUpstream(values: Values, https: boolean): Upstream {
  const upstream = readOption('upstream', values.upstream, UPSTREAM_RULE) as Upstream | undefined;
  if (upstream === 'h2c' && (values['local-https'] ?? https))
    throw new UsageError(
      '--upstream h2c is HTTP/2 without TLS. Use --upstream h2 for a port that speaks HTTPS.',
    );
  return upstream ?? 'http1';
}

/*
 * Options of other programs for tunnels (ngrok, localtunnel, cloudflared): accepted if they mean the same, otherwise
 * answered with ours.
 */

/** Options that mean the same. */
const SAME_OPTIONS: Readonly<Record<string, OptionName>> = {
  subdomain: 'name',
  authtoken: 'key',
  'basic-auth': 'auth',
  'cidr-allow': 'allow',
};

export const PORT_HINT = 'The port is not an option: run "culvert http 3000".';
const SIGN_IN_HINT = 'Use --sign-in WHO to let people sign in, or --mcp for agents: run "culvert help http".';

const OPTION_HINTS: Readonly<Record<string, string>> = {
  all: 'To open all tunnels of culvert.yml, run "culvert start" without a name.',
  url: `Use --name NAME for a name in the address. ${PORT_HINT}`,
  p: PORT_HINT,
  hostname: 'Use --name NAME for a name in the address, or --domain DOMAIN for your own domain.',
  oauth: SIGN_IN_HINT,
  oidc: SIGN_IN_HINT,
  region: 'Choose a relay with --relay URL.',
  'print-requests': 'Requests are always shown.',
};

/** Replaces options of other programs by ours. What follows `--` is left alone. */
function translateOptions(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.map((argument, index) => {
    const [, name = '', value = ''] = /^--([a-z-]+)(=.*)?$/s.exec(argument) ?? [];
    const isOption = end === -1 || index < end;
    const ours = isOption && Object.hasOwn(SAME_OPTIONS, name) ? SAME_OPTIONS[name] : undefined;
    return ours === undefined ? argument : `--${ours}${value}`;
  });
}

/** The replacement for an option that does not exist here; `undefined` for an unknown one. */
export function optionHint(name: string): string | undefined {
  return Object.hasOwn(OPTION_HINTS, name) ? OPTION_HINTS[name] : undefined;
}

/* Targets of tunnels as people write them: a port, or the address that their development server prints. */

export interface Target {
  readonly port: number;
  /** name or IP address; `localhost` by default */
  readonly host: string;
  readonly https: boolean;
}

const ACCEPTED = `a local port (${PORT_RULE.accepted}), HOST:PORT, or an address such as http://localhost:3000`;
const ADDRESS = /^(?:(https?):\/\/)?(\[[\da-f:.]+(?:%[\w.~-]+)?\]|[^[\]:/?#@\s]*)(?::(\d+))?(\/.*)?$/is;
/** What servers that listen on every address of this machine print. */
const EVERY_ADDRESS = new Set(['', '0.0.0.0', '[::]', '*']);

/** Whether a word can only be meant as a port, or as where a service listens. */
export function isTarget(word: string): boolean {
  return /^(?::?\d+|https?:\/\/.*|(?:\[.*\]|[\w.*-]+):\d+\/?)$/i.test(word);
}

/** @throws UsageError that names the error and the accepted values */
export function parseTarget(text: string): Target {
  const port = parsePort(text);
  if (port !== undefined) return { port, host: 'localhost', https: false };
  const [, scheme, host = '', portText, path = ''] = ADDRESS.exec(text) ?? [];
  const isHttps = scheme?.toLowerCase() === 'https';
  const given = portText === undefined ? standardPort(scheme) : parsePort(portText);
  if (given === undefined) throw new UsageError(`PORT "${text}" is not valid. It must be ${ACCEPTED}.`);
  if (path !== '' && path !== '/')
    throw new UsageError(`PORT "${text}": a tunnel forwards all paths of a port. Leave out "${path}".`);
  return { port: given, host: hostOf(host, text), https: isHttps };
}

function standardPort(scheme: string | undefined): number | undefined {
  if (scheme === undefined) return undefined;
  return scheme.toLowerCase() === 'https' ? 443 : 80;
}

function hostOf(host: string, text: string): string {
  if (EVERY_ADDRESS.has(host) || host.toLowerCase() === 'localhost') return 'localhost';
  const bare = host.replace(/^\[|\]$/g, '');
  if (LOCAL_HOST_RULE.accepts(bare)) return bare;
  throw new UsageError(
    `PORT "${text}": "${bare}" is not ${LOCAL_HOST_RULE.accepted}. PORT must be ${ACCEPTED}.`,
  );
}

/** A word of warning for a service of another machine; `undefined` for one of this. */
export function otherMachineWarning(host: string): string | undefined {
  if (isLoopback(host)) return undefined;
  return `culvert: ${host} is another machine. Visitors see whatever it shows to this machine, which may be more than it shows to the internet.\n`;
}
