/** Runs `culvert mcp`: serves one agent until its client ends the connection, and then closes its tunnels. */
import { homedir } from 'node:os';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { appDataFolder } from '../../client/config/stored-login.ts';
import { ExitCode } from '../../client/failures.ts';
import type { CommandContext } from '../command-line/command.ts';
import { AgentTunnels } from './agent-tunnels.ts';
import { type Bounds, Consent } from './bounds.ts';
import { StdioServer } from './stdio-server.ts';
import { createToolbox } from './tools.ts';

/**
 * How long an MCP client that cannot be served has to ask, so that it hears why: they ask when they start the
 * server.
 */
const MCP_REFUSAL_MS = 10_000;

export interface GivenMcp extends RelayAccess {
  readonly bounds: Bounds;
}

/** Standard output carries messages of the protocol only; everything for people goes to standard error. */
export async function runMcp(
  { bounds, ...access }: GivenMcp,
  { output, interruptible }: CommandContext,
): Promise<ExitCode> {
  const clock = systemClock;
  const interrupted = interruptible();
  const tunnels = new AgentTunnels({ access, clock, output });
  const consent = bounds.ask ? await askingOwner(clock) : undefined;
  const tools = createToolbox({ access, bounds, tunnels, consent, clock });
  const server = new StdioServer({ input: process.stdin, output: process.stdout, clock, ...tools });
  await server.serve(interrupted);
  await tunnels.closeAll();
  return ExitCode.ok;
}

/**
 * Tells the client why there are no tools. Clients show an error of the protocol, but not what a server that ends has
 * written to standard error.
 *
 * @returns when it has been told, or is not heard for {@link MCP_REFUSAL_MS}
 */
export async function refuseMcp(refusal: string): Promise<void> {
  // A person reads standard error.
  if (process.stdin.isTTY) return;
  const server = new StdioServer({
    input: process.stdin,
    output: process.stdout,
    clock: systemClock,
    instructions: '',
    tools: [],
    refusal,
    call: () => Promise.reject(new Error(refusal)),
  });
  await server.serve(AbortSignal.timeout(MCP_REFUSAL_MS));
}

/** Only `--ask` loads the askers. */
async function askingOwner(clock: Clock): Promise<Consent> {
  const { askThroughApp } = await import('../../client/owner-questions.ts');
  const { askOnTerminal } = await import('./ask-on-terminal.ts');
  const machine = { platform: process.platform, env: process.env, home: homedir() };
  return new Consent({ clock, askers: [askThroughApp(appDataFolder(machine)), askOnTerminal] });
}
