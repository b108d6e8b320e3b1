/**
 * Words of other programs for tunnels (ngrok, localtunnel, cloudflared) that people have in their fingers: understood where
 * they mean the same, else answered with the word that is ours.
 */
import type { CommandName, OptionName } from '../options.ts';

/** Options that mean the same. */
const SAME_OPTIONS: Readonly<Record<string, OptionName>> = {
  subdomain: 'name',
  authtoken: 'key',
  'basic-auth': 'auth',
  'cidr-allow': 'allow',
};

/** Commands that mean the same. */
const SAME_COMMANDS: Readonly<Record<string, CommandName | 'version'>> = {
  ls: 'list',
  rm: 'close',
  stop: 'close',
  up: 'start',
  version: 'version',
};

const PORT_HINT = 'the local port needs no option: "culvert http 3000".';

const OPTION_HINTS: Readonly<Record<string, string>> = {
  url: `--name N asks for a name in the address, and ${PORT_HINT}`,
  port: PORT_HINT,
  hostname: '--name N asks for a name in the address, --domain DOMAIN for a domain of yours.',
  region: 'a relay is where it was installed: --relay URL says which.',
  'print-requests': 'requests are shown anyway.',
};

const COMMAND_HINTS: Readonly<Record<string, string>> = {
  tcp: 'Tunnels carry HTTP and WebSockets, and nothing else: "culvert http PORT".',
  udp: 'Tunnels carry HTTP and WebSockets, and nothing else: "culvert http PORT".',
  tls: 'The relay speaks TLS, and so may the local service: "culvert http https://localhost:8443".',
  tunnel: 'One command opens a tunnel: "culvert http PORT".',
  config:
    'A key is kept by "culvert login --relay URL"; tunnels of a project are in culvert.yml ("culvert help start").',
  authtoken: 'A key is kept by "culvert login --relay URL".',
  service: 'The desktop app keeps tunnels open in the background; a command runs as long as its terminal.',
  update: 'The command is updated as it was installed.',
  serve: 'A folder is shared by "culvert share FOLDER", a relay is run by "culvert-relay serve".',
  logs: 'Requests are shown by "culvert inspect".',
};

/** Replaces options of other programs by ours. What follows `--` is left alone. */
export function translateOptions(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.map((argument, index) => {
    const [, name = '', value = ''] = /^--([a-z-]+)(=.*)?$/s.exec(argument) ?? [];
    const isOption = end === -1 || index < end;
    const ours = isOption && Object.hasOwn(SAME_OPTIONS, name) ? SAME_OPTIONS[name] : undefined;
    return ours === undefined ? argument : `--${ours}${value}`;
  });
}

/** @returns our name for a command of other programs; the word itself if it is none */
export function translateCommand(word: string): string {
  return Object.hasOwn(SAME_COMMANDS, word) ? (SAME_COMMANDS[word] ?? word) : word;
}

/** What to use in place of an option that does not exist here; `undefined` for one that nobody knows. */
export function optionHint(name: string): string | undefined {
  return Object.hasOwn(OPTION_HINTS, name) ? OPTION_HINTS[name] : undefined;
}

/** What to use in place of a command that does not exist here; `undefined` for one that nobody knows. */
export function commandHint(word: string): string | undefined {
  return Object.hasOwn(COMMAND_HINTS, word) ? COMMAND_HINTS[word] : undefined;
}
