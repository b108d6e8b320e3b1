/** Commands for tunnels that already exist, which are named by id or slug. */
import { API_ERRORS } from '../../../shared/errors.ts';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from '../../../shared/links.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { TTL_RULE } from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import { byteSize } from '../../client/inspector/readable.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { madeTokens } from '../../client/relay/api-responses.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import {
  accessText,
  type AccessOptions,
  completeAccess,
  describeAccess,
  exposureWarning,
  readAccessOptions,
} from '../command-line/access-options.ts';
import { apiOf, cannotPrint, type CommandLine, defineCommand, printOnce } from '../command-line/command.ts';
import { jsonLine, localTime, table } from '../output/format.ts';
import { ACCESS_POLICY, COMMON } from '../command-line/options.ts';
import { readOption, type Values } from '../command-line/parse.ts';

export const listCommand = defineCommand({
  name: 'list',
  operands: '',
  summary: 'List your tunnels',
  options: COMMON,
  examples: {
    'culvert list': "show each tunnel's state, traffic and address",
    'culvert list --json': 'print the list as JSON',
  },
  read: (line) => line.accessAlone(),
  async run(command, { output }) {
    const tunnels = await apiOf(command).listTunnels();
    if (command.json) output.out(jsonLine({ tunnels }));
    else if (tunnels.length === 0) output.out('No live tunnels.\n');
    else output.out(tunnelTable(tunnels));
  },
});

export const closeCommand = defineCommand({
  name: 'close',
  operands: 'ID|SLUG',
  summary: 'Close a tunnel',
  options: COMMON,
  examples: { 'culvert close my-app': 'close the tunnel and disconnect its visitors' },
  read: (line) => ({ tunnel: line.tunnelName(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    await api.closeTunnel(tunnel.id);
    output.out(command.json ? '{"status":"closed"}\n' : `Closed ${tunnel.slug}.\n`);
  },
});

export const extendCommand = defineCommand({
  name: 'extend',
  operands: 'ID|SLUG',
  summary: 'Extend a tunnel',
  options: { Extension: ['ttl'], ...COMMON },
  meanings: { ttl: "How much time to add, such as 30m or 4h. Default: the tunnel's own time to live." },
  examples: {
    'culvert extend my-app': 'extend the tunnel by its own time to live',
    'culvert extend my-app --ttl 4h': 'extend the tunnel by four hours',
  },
  read: (line) => ({ tunnel: line.tunnelName(), ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const { id } = findTunnel(await api.listTunnels(), command.tunnel);
    const tunnel = await api.extendTunnel(id, command.ttl);
    const text = `${tunnel.slug} now expires ${localTime(tunnel.expires_at)}.`;
    output.out(command.json ? jsonLine(tunnel) : `${text}\n`);
  },
});

/** Thrown for an id or a slug that no live tunnel has. */
class NoSuchTunnel extends Error {
  constructor(name: string) {
    super(`None of your live tunnels has the id or slug "${name}". "culvert list" shows your tunnels`);
  }
}

/**
 * An id before a slug: a custom name may look like somebody's id.
 *
 * @throws NoSuchTunnel
 */
function findTunnel(tunnels: readonly Tunnel[], name: string): Tunnel {
  const wanted = name.toLowerCase();
  const tunnel = tunnels.find(({ id }) => id === wanted) ?? tunnels.find(({ slug }) => slug === wanted);
  if (tunnel === undefined) throw new NoSuchTunnel(name);
  return tunnel;
}

function tunnelTable(tunnels: readonly Tunnel[]): string {
  // Most accounts have one person.
  const isShared = tunnels.some(({ created_by: by }) => by !== null);
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    ...(isShared ? [tunnel.created_by ?? '-'] : []),
    tunnel.online ? 'online' : 'offline',
    String(tunnel.local_port),
    localTime(tunnel.expires_at),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    accessText(tunnel.access),
    tunnel.public_url,
    tunnel.id,
  ]);
  const titles = ['STATE', 'PORT', 'EXPIRES', 'REQUESTS', 'IN', 'OUT', 'ACCESS', 'ADDRESS', 'ID'];
  return table([['SLUG', ...(isShared ? ['BY'] : []), ...titles], ...rows]);
}

/* `culvert access`, `link`, `links` and `knock`: who may visit a tunnel. */

export const accessCommand = defineCommand({
  name: 'access',
  operands: 'ID|SLUG',
  summary: "Show or replace a tunnel's access policy",
  options: { Access: [...ACCESS_POLICY, 'open'], ...COMMON },
  meanings: { open: 'Admit everyone. This option cannot be combined with the other access options.' },
  examples: {
    'culvert access my-app': 'show the access policy, and when tokens were last used',
    'culvert access my-app --token ci --token agent': 'admit two programs; to revoke a token, leave it out',
    'culvert access my-app --links --allow 10.0.0.0/8': 'replace the access policy',
    'culvert access my-app --open': 'make the tunnel public again',
  },
  details: `
    Without access options, the command shows the current policy. With access options, it replaces the whole policy,
    so include everything that should apply. If you combine --auth, --password, --links, --knock and --token, visitors
    need to satisfy only one of them. --allow applies in addition.

    --token keeps the tunnel's token of that name, or creates one and shows it once. Tokens that you leave out are
    revoked, and everything that was opened with them is closed.

    A change takes effect within a second. Visitors have to authenticate again, and open WebSockets are closed for visitors who no longer have access.`,
  read: (line) => ({ tunnel: line.tunnelName(), wanted: readWanted(line.values), ...line.access() }),
  async run(command, { prompt, output }) {
    const { wanted, json } = command;
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    if (wanted === undefined) {
      output.out(json ? jsonLine(tunnel) : stateOf(tunnel) + usesOf(tunnel));
      return;
    }
    const warning = exposureWarning(wanted);
    if (warning !== undefined) output.err(warning);
    const changed = await api.setAccess(tunnel.id, await completeAccess(wanted, prompt));
    const { madePassword } = wanted;
    const made = madeTokens(changed.access);
    const before = describeAccess(tunnel.access) ?? 'open to everyone';
    const lines = [
      ...made.map(({ name, token }) => `Token ${name}: ${token}\n`),
      ...(madePassword === undefined ? [] : [`Password: ${madePassword}\n`]),
      `Before: ${before}.\n`,
    ];
    const object = madePassword === undefined ? changed : { ...changed, password: madePassword };
    output.out(json ? jsonLine(object) : stateOf(changed) + lines.join(''));
    if (made.length + (madePassword === undefined ? 0 : 1) === 0) return;
    const failure = await output.flush();
    // The previous policy cannot be restored, because the relay does not show its secrets.
    if (failure !== undefined)
      throw new Unshown(
        made.map(({ name }) => name),
        failure,
      );
  },
});

/** Thrown for new secrets of an access policy that could not be printed. */
export class Unshown extends Error {
  constructor(tokens: readonly string[], cause: Error) {
    const names = tokens.map((name) => ` --token ${name}`).join('');
    const remedy =
      names === ''
        ? 'Run the command again'
        : `Replace the tokens: run the command without${names}, then with it`;
    super(`${cannotPrint(cause)} The policy applies, but its new secrets were not shown. ${remedy}`, {
      cause,
    });
  }
}

export const linkCommand = defineCommand({
  name: 'link',
  operands: 'ID|SLUG | --revoke LINK',
  summary: 'Create a signed link to a tunnel, or revoke one',
  options: { Link: ['ttl', 'note', 'path', 'revoke'], ...COMMON },
  meanings: {
    ttl: 'How long the link is valid, such as 2h. Default: 24h.',
    path: 'The page that the link opens, such as "/cart?step=2". Default: the start page.',
  },
  examples: {
    'culvert link my-app --ttl 2h --note Ann': 'create a link for Ann that is valid for two hours',
    "culvert link my-app --path '/cart?step=2'": 'create a link that opens a certain page',
    'culvert link --revoke 0123456789abcdef': 'revoke the link with this id',
  },
  details: `
    A link admits visitors only if the tunnel's access policy includes --links. The link stops working after --ttl,
    when the tunnel ends, or when you revoke it. A visitor with a link has access to every path on the tunnel.

    The command prints the link to standard output, and its id and expiry to standard error.`,
  read: (line) => ({ action: readLinkAction(line), ...line.access() }),
  async run(command, { output }) {
    const { action, json } = command;
    const api = apiOf(command);
    const tunnels = await api.listTunnels();
    if (action.name === 'revoke') {
      await revokeLink(api, tunnels, action.link);
      output.out(json ? '{"status":"revoked"}\n' : 'Revoked.\n');
      return;
    }
    const { id } = findTunnel(tunnels, action.tunnel);
    const link = await api.createLink(id, action.link);
    await printOnce(output, json ? jsonLine(link) : `${link.url}\n`, () => api.deleteLink(id, link.id));
    // On standard error, so that only the link reaches a clipboard or a program.
    if (!json)
      output.err(
        `Valid until ${localTime(link.expires_at)}. To revoke it, run "culvert link --revoke ${link.id}".\n`,
      );
  },
});

export const linksCommand = defineCommand({
  name: 'links',
  operands: 'ID|SLUG',
  summary: "List a tunnel's signed links",
  options: COMMON,
  examples: { 'culvert links my-app': 'list the links that are still valid' },
  read: (line) => ({ tunnel: line.tunnelName(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const links = await api.listLinks(findTunnel(await api.listTunnels(), command.tunnel).id);
    if (command.json) output.out(jsonLine({ links }));
    else if (links.length === 0) output.out('No signed links.\n');
    else {
      const rows = links.map(({ id, note, path = '/', created_at, expires_at }) => [
        id,
        localTime(created_at),
        localTime(expires_at),
        path,
        note,
      ]);
      output.out(table([['LINK', 'CREATED', 'EXPIRES', 'PATH', 'NOTE'], ...rows]));
    }
  },
});

export const knockCommand = defineCommand({
  name: 'knock',
  operands: 'ID|SLUG KNOCK',
  summary: 'Approve or deny a visitor who is asking for access',
  options: { Answer: ['admit', 'refuse', 'for'], ...COMMON },
  examples: {
    'culvert knock my-app 0123456789abcdef --admit --for 8h': 'give a visitor access for eight hours',
    'culvert knock my-app 0123456789abcdef --refuse': 'deny a visitor, or revoke an approval',
  },
  details: `
    KNOCK is the id of the approval request. "culvert http --knock" prints this id when it is not running in a
    terminal, and the "knock" event of --json contains it. A visitor waits for up to 5 minutes.`,
  read(line) {
    line.atMost(2);
    const [tunnel = '', knock = ''] = line.operands;
    const { admit = false, refuse = false, for: duration } = line.values;
    if (tunnel === '' || knock === '')
      throw new UsageError(
        'Specify both the tunnel and the approval request. "culvert http --knock" shows both.',
      );
    if (admit === refuse) throw new UsageError('Use either --admit or --refuse.');
    if (refuse && duration !== undefined) throw new UsageError('--for can only be used with --admit.');
    return {
      tunnel,
      knock,
      admit,
      duration: readOption('for', duration, TTL_RULE),
      ...line.access(),
    };
  },
  async run(command, { output }) {
    const { knock, admit, duration, json } = command;
    const api = apiOf(command);
    const { id } = findTunnel(await api.listTunnels(), command.tunnel);
    await api.answerKnock(id, knock, admit, duration);
    const status = admit ? 'admitted' : 'refused';
    output.out(json ? jsonLine({ status }) : `${admit ? 'Approved' : 'Denied'} the visitor.\n`);
  },
});

/**
 * @returns who may visit from now on; `undefined` if that is only to be shown
 * @throws UsageError
 */
function readWanted(values: Values): AccessOptions | undefined {
  const { auth, password, allow, links, knock, token, open } = values;
  const isGiven = [auth, password, allow, links, knock, token].some((value) => value !== undefined);
  if (isGiven && open === true)
    throw new UsageError('--open gives everyone access, so it cannot be combined with other access options.');
  return isGiven || open === true ? readAccessOptions(values) : undefined;
}

/** @throws UsageError */
function readLinkAction(line: CommandLine) {
  const { revoke, note, path } = line.values;
  const ttl = line.ttl();
  if (revoke === undefined) {
    const link = {
      ...(ttl === undefined ? {} : { ttl }),
      ...(note === undefined ? {} : { note: readOption('note', note, LINK_NOTE_RULE) }),
      ...(path === undefined ? {} : { path: readOption('path', path, LINK_PATH_RULE) }),
    };
    return { name: 'make', tunnel: line.tunnelName(), link } as const;
  }
  line.atMost(0);
  if ([ttl, note, path].some((value) => value !== undefined))
    throw new UsageError('--revoke cannot be combined with --ttl, --note or --path.');
  if (!/^[0-9a-f]{16}$/.test(revoke))
    throw new UsageError(
      `--revoke "${revoke}" is not valid. It must be the id of a link, as shown by "culvert links".`,
    );
  return { name: 'revoke', link: revoke } as const;
}

/** Thrown for an id that no link of a live tunnel has. */
class NoSuchLink extends Error {
  constructor(id: string) {
    super(
      `None of your live tunnels has a link with the id "${id}". "culvert links" shows the links of a tunnel`,
    );
  }
}

/** A link is identified by its id alone; its tunnel is the one that does not report it as missing. */
async function revokeLink(api: ApiClient, tunnels: readonly Tunnel[], link: string): Promise<void> {
  for (const { id } of tunnels) {
    try {
      await api.deleteLink(id, link);
      return;
    } catch (error) {
      const isOther = error instanceof RelayRefusal && error.isOwn && error.is(API_ERRORS.linkNotFound);
      // It may have ended since it was listed, with all its links.
      const isGone = error instanceof RelayRefusal && error.isOwn && error.is(API_ERRORS.tunnelNotFound);
      if (!isOther && !isGone) throw error;
    }
  }
  throw new NoSuchLink(link);
}

/** When its tokens were last used. */
function usesOf({ access: { tokens = [] } }: Tunnel): string {
  const rows = tokens.map(({ name, last_used_at }) => [
    name,
    last_used_at === undefined ? 'never' : localTime(last_used_at),
  ]);
  return rows.length === 0 ? '' : table([['TOKEN', 'LAST USED'], ...rows]);
}

function stateOf({ slug, access }: Tunnel): string {
  const lock = describeAccess(access);
  return lock === undefined
    ? `${slug} is open to everyone.\n`
    : `Access to ${slug} is restricted: ${lock}.\n`;
}
