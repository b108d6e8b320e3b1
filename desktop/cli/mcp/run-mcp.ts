/** Runs `culvert mcp`: serves one agent until its client ends the connection, and then closes its tunnels. */
import { homedir } from 'node:os';
import { systemClock } from '../../client/clock.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { appDataFolder } from '../../client/config/stored-login.ts';
import { ExitCode } from '../../client/failures.ts';
import { askThroughApp } from '../../client/owner-questions.ts';
import type { CommandContext } from '../command.ts';
import { Inspection } from '../serve-tunnel.ts';
import { AgentTunnels } from './agent-tunnels.ts';
import { askOnTerminal } from './ask-on-terminal.ts';
import type { Bounds } from './bounds.ts';
import { Consent } from './consent.ts';
import { StdioServer } from './stdio-server.ts';
import { createToolbox } from './tools.ts';

export interface GivenMcp extends RelayAccess {
  readonly bounds: Bounds;
}

/** Standard output carries messages of the protocol only; everything for people goes to standard error. */
export async function runMcp(
  { bounds, ...access }: GivenMcp,
  { output, interruptible }: CommandContext,
): Promise<ExitCode> {
  const clock = systemClock;
  const machine = { platform: process.platform, env: process.env, home: homedir() };
  const interrupted = interruptible();
  // It need not delay the answer to the first message.
  const inspection = Inspection.start(process.env, output);
  const tunnels = new AgentTunnels({ access, clock, output, inspection });
  const consent = bounds.ask
    ? new Consent({ clock, askers: [askThroughApp(appDataFolder(machine)), askOnTerminal] })
    : undefined;
  const toolbox = createToolbox({ access, bounds, tunnels, consent, clock });
  const server = new StdioServer({ input: process.stdin, output: process.stdout, toolbox, clock });
  await server.serve(interrupted);
  await tunnels.closeAll();
  return ExitCode.ok;
}
