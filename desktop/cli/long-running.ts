/**
 * The commands that use the engine, most of which keep running: one file to load (docs/decisions/0015-bundled-programs.md).
 */
export { runtimeFolder } from '../client/inspector/inspector-protocol.ts';
export { runDoctor } from './doctor-command.ts';
export { runInspect } from './inspect-command.ts';
export { Inspection } from './serve-tunnel.ts';
export { terminalPrompt } from './prompt.ts';
export { completeTunnels, runTunnels } from './run-tunnels.ts';
