/** The version of both programs; a test keeps it equal to the one in package.json. */
export const VERSION = '0.1.0';

/**
 * The environment variables of the client, `culvert` (docs/command.md). The relay's are its settings; each program knows the
 * names of the other's, since both may run on one machine.
 */
export const CLIENT_VARIABLES = ['CULVERT_RELAY', 'CULVERT_API_KEY', 'CULVERT_CA'] as const;

/** What is shown in place of a secret. */
export const REDACTED = '[redacted]';
