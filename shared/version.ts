/** The version of both programs; a test keeps it equal to the one in package.json. */
export const VERSION = '0.1.0';

/**
 * The environment variables of the client, `culvert` (culvert.md). The relay's are its settings. Each program
 * knows the other's names, since both may run on one machine.
 */
export const CLIENT_VARIABLES = ['CULVERT_RELAY', 'CULVERT_API_KEY', 'CULVERT_CA'] as const;

/** Shown instead of a secret. */
export const REDACTED = '[redacted]';
