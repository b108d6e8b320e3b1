/**
 * The commands that use the engine, most of which keep running: one file to load (docs/decisions/0015-bundled-programs.md).
 */
export { runtimeFolder } from '../engine/inspector/socket/runtime-folder.ts';
export { runDoctor } from './commands/doctor-command.ts';
export { runInspect } from './commands/inspect-command.ts';
export { Inspection } from './serving/inspection.ts';
export { terminalPrompt } from './prompt.ts';
export { completeTunnels, runTunnels } from './serving/run-tunnels.ts';
