/** `culvert link` and `links`: signed links to a tunnel. */
import { API_ERRORS } from '../../../shared/errors.ts';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from '../../../shared/links.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { UsageError } from '../../client/failures.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import { apiOf, type CommandLine, defineCommand, printOnce, TUNNEL } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { readOption } from '../command-line/parse.ts';
import { jsonLine, localTime, table } from '../output/format.ts';
import { addressCode } from '../view/once-online.ts';
import { findTunnel } from './find-tunnel.ts';

const OPERANDS = { tunnel: { ...TUNNEL, shown: 'ID|SLUG | --revoke LINK', count: 'optional' } } as const;

export const linkCommand = defineCommand({
  name: 'link',
  operands: OPERANDS,
  summary: 'Create a signed link to a tunnel, or revoke one',
  options: { Link: ['ttl', 'note', 'path', 'once', 'qr', 'revoke'], ...COMMON },
  meanings: {
    ttl: 'How long the link is valid, such as 2h. Default: 24h.',
    path: 'The page that the link opens, such as "/cart?step=2". Default: the start page.',
    qr: 'Show the link as a QR code, for a phone.',
  },
  examples: {
    'culvert link my-app --ttl 2h --note Ann': 'create a link for Ann that is valid for two hours',
    "culvert link my-app --path '/cart?step=2'": 'create a link that opens a certain page',
    'culvert link my-app --once --qr': 'open the tunnel on your phone, with a link for nobody else',
    'culvert link --revoke 0123456789abcdef': 'revoke the link with this id',
  },
  details: `
    A link admits visitors only if the tunnel's access policy includes --links. The link stops working after --ttl,
    when you revoke it, or when the tunnel ends. If you keep the tunnel's name ("culvert name keep"), the link works
    again with the next tunnel of that name. A visitor with a link has access to every path on the tunnel.

    A link with --once admits the first browser that opens it, for as long as the link is valid, and no other:
    forwarding it gives nobody access. Previews of messengers do not use it up.

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
    if (action.showsCode) output.err(addressCode(link.url, process.stderr, process.env));
    if (!json)
      output.err(
        `Valid until ${localTime(link.expires_at)}${link.once === true ? ', in the first browser that opens it' : ''}. To revoke it, run "culvert link --revoke ${link.id}".\n`,
      );
  },
});

export const linksCommand = defineCommand({
  name: 'links',
  operands: { tunnel: TUNNEL },
  summary: "List a tunnel's signed links",
  options: COMMON,
  examples: { 'culvert links my-app': 'list the links that are still valid' },
  read: (line) => ({ ...line.operands, ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const links = await api.listLinks(findTunnel(await api.listTunnels(), command.tunnel).id);
    if (command.json) output.out(jsonLine({ links }));
    else if (links.length === 0) output.out('No signed links.\n');
    else {
      // Links for one browser say whether one has opened them.
      const showsUse = links.some(({ once }) => once === true);
      const rows = links.map(({ id, note, path = '/', once, used_at, created_at, expires_at }) => [
        id,
        localTime(created_at),
        localTime(expires_at),
        ...(showsUse ? [once === true ? (used_at === undefined ? 'not yet' : localTime(used_at)) : ''] : []),
        path,
        note,
      ]);
      const opened = showsUse ? ['OPENED'] : [];
      output.out(table([['LINK', 'CREATED', 'EXPIRES', ...opened, 'PATH', 'NOTE'], ...rows]));
    }
  },
});

/** @throws UsageError */
function readLinkAction(line: CommandLine<typeof OPERANDS>) {
  const { revoke, note, path, once = false, qr = false } = line.values;
  const ttl = line.ttl();
  if (revoke === undefined) {
    const link = {
      ...(ttl === undefined ? {} : { ttl }),
      ...(note === undefined ? {} : { note: readOption('note', note, LINK_NOTE_RULE) }),
      ...(path === undefined ? {} : { path: readOption('path', path, LINK_PATH_RULE) }),
      ...(once && { once }),
    };
    const { tunnel = '' } = line.operands;
    if (tunnel === '') throw line.missing(TUNNEL);
    return { name: 'make', tunnel, link, showsCode: qr } as const;
  }
  line.refuse(Object.values(line.operands).filter((word) => word !== undefined));
  if ([ttl, note, path].some((value) => value !== undefined) || once || qr)
    throw new UsageError('--revoke cannot be combined with --ttl, --note, --path, --once or --qr.');
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
      const isOther = error instanceof RelayRefusal && error.is(API_ERRORS.linkNotFound);
      // It may have ended since it was listed, with all its links.
      const isGone = error instanceof RelayRefusal && error.is(API_ERRORS.tunnelNotFound);
      if (!isOther && !isGone) throw error;
    }
  }
  throw new NoSuchLink(link);
}
