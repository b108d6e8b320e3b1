/** The version of both programs; a test keeps it equal to the one in package.json. */
export const VERSION = '0.1.0';

/**
 * The environment variables of the client, `culvert`. The relay's are its settings. Each program knows the other's
 * names, since both may run on one machine.
 */
export const CLIENT_VARIABLES = ['CULVERT_RELAY', 'CULVERT_API_KEY', 'CULVERT_CA'] as const;

/** What docs/reference/settings.md says about those, and about variables of the system that the client reads. */
export const CLIENT_VARIABLE_MEANINGS = {
  CULVERT_RELAY: "The relay's address, like `--relay`.",
  CULVERT_API_KEY: 'API key, like `--key`.',
  CULVERT_CA: 'PEM file with certificate authorities to trust, like `--ca`.',
  NODE_EXTRA_CA_CERTS:
    'PEM file with additional certificate authorities to trust, as for any Node.js program.',
  'HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY':
    'Proxy between the client and the relay. The names may be in upper or lower case.',
  NO_COLOR: 'If this is set, the terminal view uses no colours.',
  'VISUAL, EDITOR': 'The editor that `culvert inspect edit` opens.',
  XDG_CONFIG_HOME: 'On Linux, the folder that contains `culvert/login.json`.',
} as const satisfies Readonly<Record<(typeof CLIENT_VARIABLES)[number], string>> &
  Readonly<Record<string, string>>;

/** Shown instead of a secret. */
export const REDACTED = '[redacted]';
