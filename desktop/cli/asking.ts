/**
 * The commands that ask the relay's API and exit: one file to load for each of them
 * (docs/decisions/0015-bundled-programs.md).
 */
export { runAccess, runKnock, runLink, runLinks } from './commands/access-commands.ts';
export { runDomain } from './commands/domain-commands.ts';
export { runLogin, runLogout } from './commands/login-command.ts';
export { runClose, runExtend, runList } from './commands/manage-commands.ts';
export { terminalPrompt } from './prompt.ts';
export { runStatus } from './commands/status-command.ts';
