/**
 * The commands that ask the relay's API and exit: one file to load for each of them
 * (docs/decisions/0015-bundled-programs.md).
 */
export { runAccess, runKnock, runLink, runLinks } from './access-commands.ts';
export { runDomain } from './domain-commands.ts';
export { runLogin, runLogout } from './account-commands.ts';
export { runClose, runExtend, runList } from './manage-commands.ts';
export { terminalPrompt } from './prompt.ts';
export { runStatus } from './account-commands.ts';
