/** `culvert access`, `link`, `links` and `knock`: who may come into a tunnel that is there. */
import { API_ERRORS } from '../../shared/errors.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Prompt, RelayAccess } from '../client/config/relay-access.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { completeAccess, describeAccess, exposureWarning } from './access-options.ts';
import type { AccessCommand, KnockCommand, LinkCommand, LinksCommand } from './commands.ts';
import { jsonLine, localTime, table } from './format.ts';
import { findTunnel } from './manage-commands.ts';
import type { Output } from './reporter.ts';

/** Thrown for an id that no link of a live tunnel has. */
export class NoSuchLink extends Error {
  constructor(id: string) {
    super(`None of your live tunnels has a link "${id}"; "culvert links" shows those of a tunnel`);
  }
}

export async function runAccess(command: AccessCommand, prompt: Prompt, output: Output): Promise<void> {
  const { wanted, json } = command;
  const api = apiOf(command);
  const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
  if (wanted === undefined) {
    output.out(json ? jsonLine(tunnel) : stateOf(tunnel));
    return;
  }
  const warning = exposureWarning(wanted);
  if (warning !== undefined) output.err(warning);
  const changed = await api.setAccess(tunnel.id, await completeAccess(wanted, prompt));
  const { madePassword } = wanted;
  if (json) {
    output.out(jsonLine(madePassword === undefined ? changed : { ...changed, password: madePassword }));
    return;
  }
  const before = describeAccess(tunnel.access) ?? 'open to everybody';
  output.out(stateOf(changed));
  if (madePassword !== undefined) output.out(`Password: ${madePassword}\n`);
  output.out(`Before: ${before}.\n`);
}

export async function runLink(command: LinkCommand, output: Output): Promise<void> {
  const { action, json } = command;
  const api = apiOf(command);
  const tunnels = await api.listTunnels();
  if (action.name === 'revoke') {
    await revoke(api, tunnels, action.link);
    output.out(json ? '{"status":"revoked"}\n' : 'Revoked.\n');
    return;
  }
  const link = await api.createLink(findTunnel(tunnels, action.tunnel).id, action.link);
  output.out(json ? jsonLine(link) : `${link.url}\n`);
  // Not among what is passed on to a clipboard or a program.
  if (!json)
    output.err(`Good until ${localTime(link.expires_at)}; "culvert link --revoke ${link.id}" ends it.\n`);
}

export async function runLinks(command: LinksCommand, output: Output): Promise<void> {
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
    output.out(table([['LINK', 'MADE', 'ENDS', 'PATH', 'NOTE'], ...rows]));
  }
}

export async function runKnock(command: KnockCommand, output: Output): Promise<void> {
  const { knock, admit, duration, json } = command;
  const api = apiOf(command);
  const { id } = findTunnel(await api.listTunnels(), command.tunnel);
  await api.answerKnock(id, knock, admit, duration);
  const status = admit ? 'admitted' : 'refused';
  output.out(json ? jsonLine({ status }) : `The visitor is ${status}.\n`);
}

/** A link is known by its id alone; its tunnel is the one that does not say that it has no such link. */
async function revoke(api: ApiClient, tunnels: readonly Tunnel[], link: string): Promise<void> {
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

function apiOf({ relay, key, network }: RelayAccess): ApiClient {
  return new ApiClient(relay, key, network);
}

function stateOf({ slug, access }: Tunnel): string {
  const lock = describeAccess(access);
  return lock === undefined ? `${slug} is open to everybody.\n` : `${slug} is locked: ${lock}.\n`;
}
