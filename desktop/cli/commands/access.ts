/** `culvert access`: who may visit a tunnel. */
import type { Agent } from '../../../shared/agents.ts';
import { API_ERRORS } from '../../../shared/errors.ts';
import { SHORT_ID } from '../../../shared/fields.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { ValueRule } from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { madeTokens } from '../../client/relay/api-responses.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import {
  type AccessOptions,
  completeAccess,
  describeAccess,
  exposureWarning,
  readAccessOptions,
} from '../command-line/access-options.ts';
import { apiOf, cannotPrint, defineCommand, TUNNEL } from '../command-line/command.ts';
import { ACCESS_POLICY, COMMON } from '../command-line/options.ts';
import { readOption, type Values } from '../command-line/parse.ts';
import { escapeVisitorText, jsonLine, localTime, table } from '../output/format.ts';
import { findTunnel } from './find-tunnel.ts';

export const accessCommand = defineCommand({
  name: 'access',
  operands: { tunnel: TUNNEL },
  summary: "Show or replace a tunnel's access policy",
  options: { Access: [...ACCESS_POLICY, 'open'], Agents: ['revoke-agent'], ...COMMON },
  meanings: { open: 'Admit anyone. This option cannot be combined with the other access options.' },
  examples: {
    'culvert access my-app': 'show the access policy, and when tokens and agents were last used',
    'culvert access my-app --token ci --token agent': 'admit two programs; to revoke a token, leave it out',
    'culvert access my-app --links --allow 10.0.0.0/8': 'replace the access policy',
    'culvert access my-app --revoke-agent 0123456789abcdef': 'end the access of one agent',
    'culvert access my-app --open': 'make the tunnel public again',
  },
  details: `
    Without access options, the command shows the current policy. With access options, it replaces the whole policy,
    so include everything that should apply. If you combine several of these options,
    visitors need to satisfy only one of them. --allow applies in addition.

    --token keeps the tunnel's token of that name, or creates one and shows it once. Tokens that you leave out are
    revoked, and everything that was opened with them is closed.

    With --mcp, the command lists the agents that have access, by the host that the relay has checked: an agent can
    give itself any name. Agents stay until you revoke them or replace the policy without --mcp.

    A change takes effect within a second. Visitors have to authenticate again, and open WebSockets are closed for visitors who no longer have access.`,
  read: (line) => ({ ...line.operands, ...readAction(line.values), ...line.access() }),
  async run(command, { prompt, output }) {
    const { wanted, agent, json } = command;
    const api = apiOf(command);
    const tunnel = findTunnel(await api.listTunnels(), command.tunnel);
    if (agent !== undefined) {
      await revokeAgent(api, tunnel, agent);
      output.out(json ? '{"status":"revoked"}\n' : 'Revoked.\n');
      return;
    }
    if (wanted === undefined) {
      const agents = tunnel.access.oauth === true ? await api.listAgents(tunnel.id) : undefined;
      const object = agents === undefined ? tunnel : { ...tunnel, agents };
      output.out(json ? jsonLine(object) : stateOf(tunnel) + usesOf(tunnel) + agentTable(agents));
      return;
    }
    const warning = exposureWarning(wanted);
    if (warning !== undefined) output.err(warning);
    const changed = await api.setAccess(tunnel.id, await completeAccess(wanted, prompt));
    const { madePassword } = wanted;
    const made = madeTokens(changed.access);
    const before = describeAccess(tunnel.access) ?? 'open to anyone';
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

/** @returns nothing if the policy is only to be shown. @throws UsageError */
function readAction(values: Values): { wanted?: AccessOptions | undefined; agent?: string | undefined } {
  const { open } = values;
  const agent = readOption('revoke-agent', values['revoke-agent'], AGENT_ID_RULE);
  const isGiven = ACCESS_POLICY.some((name) => values[name] !== undefined);
  if (isGiven && open === true)
    throw new UsageError('--open gives anyone access, so it cannot be combined with other access options.');
  if (agent !== undefined && (isGiven || open === true))
    throw new UsageError('--revoke-agent keeps the access policy. Leave out the other access options.');
  return { agent, wanted: isGiven || open === true ? readAccessOptions(values) : undefined };
}

const AGENT_ID_RULE: ValueRule = {
  accepts: (value) => SHORT_ID.accepts.isValidSync(value),
  accepted: 'the id of an agent, as shown by "culvert access"',
};

async function revokeAgent(api: ApiClient, { id, slug }: Tunnel, agent: string): Promise<void> {
  try {
    await api.revokeAgent(id, agent);
  } catch (error) {
    if (!(error instanceof RelayRefusal) || !error.is(API_ERRORS.agentNotFound)) throw error;
    throw new Error(`${slug} has no agent "${agent}". "culvert access ${slug}" shows its agents.`, {
      cause: error,
    });
  }
}

/** When its tokens were last used. */
function usesOf({ access: { tokens = [] } }: Tunnel): string {
  const rows = tokens.map(({ name, last_used_at }) => [
    name,
    last_used_at === undefined ? 'never' : localTime(last_used_at),
  ]);
  return rows.length === 0 ? '' : table([['TOKEN', 'LAST USED'], ...rows]);
}

function agentTable(agents: readonly Agent[] = []): string {
  const rows = agents.map(({ id, name, host, returns_to, user, created_at, last_used_at }) => [
    id,
    host,
    returns_to,
    escapeVisitorText(name),
    user ?? '-',
    localTime(created_at),
    last_used_at === null ? 'never' : localTime(last_used_at),
  ]);
  const titles = ['AGENT', 'HOST', 'RETURNS TO', 'NAME', 'USER', 'SINCE', 'LAST USED'];
  return rows.length === 0 ? '' : table([titles, ...rows]);
}

function stateOf({ slug, access }: Tunnel): string {
  const lock = describeAccess(access);
  return lock === undefined ? `${slug} is open to anyone.\n` : `Access to ${slug} is restricted: ${lock}.\n`;
}
