/**
 * The commands that use the engine, most of which keep running: one file to load (docs/decisions/0015-bundled-programs.md).
 */
export { runtimeFolder } from '../engine/inspector/socket/runtime-folder.ts';
export { runDoctor } from './doctor/doctor-command.ts';
export { runInspect } from './inspect-command.ts';
export { Inspection } from './inspection.ts';
export { terminalPrompt } from './prompt.ts';
export { completeHttp, runTunnels } from './run-tunnels.ts';
