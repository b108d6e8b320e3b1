/** `culvert mcp`: a server for agents. */
import { parseDuration } from '../../../shared/duration.ts';
import { parsePort, PORT_RULE, TTL_RULE } from '../../../shared/value-rules.ts';
import { StoredLoginError } from '../../client/config/stored-login.ts';
import { UsageError } from '../../client/failures.ts';
import { type AnyLine, defineCommand } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { readOption } from '../command-line/parse.ts';
import type { PortRange } from '../mcp/bounds.ts';
import type { GivenMcp } from '../mcp/run-mcp.ts';
import { limitHeap } from './tunnel-options.ts';

export const mcpCommand = defineCommand({
  name: 'mcp',
  summary: 'Let an AI agent open tunnels, within bounds (MCP server)',
  options: { Bounds: ['ports', 'max-ttl', 'require-access', 'allow-tcp', 'ask'], Relay: COMMON.Relay },
  examples: {
    'culvert mcp': 'serve an agent without bounds',
    'culvert mcp --ports 3000-3999 --max-ttl 1h': 'allow tunnels to these ports only, for at most an hour',
    'culvert mcp --require-access': 'refuse tunnels that are open to anyone',
    'culvert mcp --ask': 'ask you before anything becomes public',
  },
  details: `
    An MCP client, such as a coding agent, starts this command and talks to it over standard input and output. The agent
    can open, extend and close tunnels, choose who can visit them, create links and tokens, answer approval requests,
    wait for requests, show them, send them again, and diagnose problems. It can use only the tunnels that it opened
    itself. They close when the client closes standard input. "culvert inspect" shows their requests.

    --ports accepts ports and ranges, separated by commas. With --max-ttl, a tunnel never has more than this time left.
    With --require-access, each tunnel needs a password, links, approvals, tokens or sign-in. A list of networks is not
    enough. Without --allow-tcp, the agent can open tunnels for HTTP only.

    With --ask, you approve each new tunnel, extension, change of access, link, token and visitor. The question appears in
    the desktop app, in the terminal of "culvert ui" if the app is not running, or else in the terminal from which you
    started the client. If you do not answer within 5 minutes, the action is refused.`,
  read: readMcp,
  async run(given, context) {
    limitHeap();
    const { refuseMcp, runMcp } = await import('../mcp/run-mcp.ts');
    if (!('failure' in given)) return runMcp(given, context);
    await refuseMcp(given.failure.message);
    throw given.failure;
  },
});

/**
 * @returns the failure if there is no way to a relay, so that the client can be told
 * @throws UsageError for invalid options
 */
function readMcp(line: AnyLine): GivenMcp | { readonly failure: Error } {
  const { ports, ask = false, 'max-ttl': ttl, 'require-access': requireAccess = false } = line.values;
  const allowTcp = line.values['allow-tcp'] ?? false;
  const maxTtl = ttl === undefined ? undefined : parseDuration(readOption('max-ttl', ttl, TTL_RULE));
  const ranges = ports === undefined ? undefined : readPorts(ports);
  const bounds = { ports: ranges, maxTtl, requireAccess, allowTcp, ask };
  try {
    return { ...line.access(), bounds };
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof StoredLoginError)) throw error;
    return { failure: error };
  }
}

/** @throws UsageError */
function readPorts(text: string): readonly PortRange[] {
  return text.split(',').map((range) => {
    const [first = '', last = first, ...more] = range.trim().split('-');
    const [from, to] = [parsePort(first), parsePort(last)];
    if (from !== undefined && to !== undefined && from <= to && more.length === 0) return { from, to };
    throw new UsageError(
      `--ports "${text}" is not valid. It must be ports or ranges, separated by commas, such as 3000-3999,8080. Each port is ${PORT_RULE.accepted}.`,
    );
  });
}
