/** `culvert access`: who may visit a tunnel. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import { UsageError } from '../../client/failures.ts';
import { madeTokens } from '../../client/relay/api-responses.ts';
import {
  type AccessOptions,
  completeAccess,
  describeAccess,
  exposureWarning,
  readAccessOptions,
} from '../command-line/access-options.ts';
import { apiOf, cannotPrint, defineCommand, TUNNEL } from '../command-line/command.ts';
import { ACCESS_POLICY, COMMON } from '../command-line/options.ts';
import type { Values } from '../command-line/parse.ts';
import { jsonLine, localTime, table } from '../output/format.ts';
import { findTunnel } from './find-tunnel.ts';

export const accessCommand = defineCommand({
  name: 'access',
  operands: { tunnel: TUNNEL },
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
    so include everything that should apply. If you combine several of these options,
    visitors need to satisfy only one of them. --allow applies in addition.

    --token keeps the tunnel's token of that name, or creates one and shows it once. Tokens that you leave out are
    revoked, and everything that was opened with them is closed.

    A change takes effect within a second. Visitors have to authenticate again, and open WebSockets are closed for visitors who no longer have access.`,
  read: (line) => ({ ...line.operands, wanted: readWanted(line.values), ...line.access() }),
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

/**
 * @returns who may visit from now on; `undefined` if that is only to be shown
 * @throws UsageError
 */
function readWanted(values: Values): AccessOptions | undefined {
  const { open } = values;
  const isGiven = ACCESS_POLICY.some((name) => values[name] !== undefined);
  if (isGiven && open === true)
    throw new UsageError('--open gives everyone access, so it cannot be combined with other access options.');
  return isGiven || open === true ? readAccessOptions(values) : undefined;
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
