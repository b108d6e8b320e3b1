/**
 * Where clients learn how to get access: at a tunnel's host what guards it (RFC 9728), and at the relay's own address who
 * gives tokens (RFC 8414).
 */

/** Paths at the relay's own host. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';
export const TOKEN_PATH = '/oauth/token';
export const REVOKE_PATH = '/oauth/revoke';
export const REGISTER_PATH = '/oauth/register';

/** Path at a tunnel's host; the path of the resource follows. */
const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const RESOURCE_METADATA = /^\/\.well-known\/oauth-protected-resource(\/[^?]*)?(?:\?|$)/;
const SERVER_METADATA = /^\/\.well-known\/oauth-authorization-server(?:[/?]|$)/;

/** Pages of any origin may be clients. */
export const ANY_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
} as const;
export const PREFLIGHT_FIELDS = {
  ...ANY_ORIGIN,
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
  // A wildcard does not stand for the first one (Fetch Standard section 4.8).
  'Access-Control-Allow-Headers': 'Authorization, *',
  'Access-Control-Max-Age': '7200',
} as const;

/** @param issuer the relay's own address, without a path */
export function serverMetadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}${TOKEN_PATH}`,
    registration_endpoint: `${issuer}${REGISTER_PATH}`,
    revocation_endpoint: `${issuer}${REVOKE_PATH}`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

/** What a request to a tunnel's host looks for, judging by its address: the path of a resource, or another document. */
export type Sought = { readonly kind: 'resource'; readonly path: string } | { readonly kind: 'server' };

/** @returns `undefined` for a request that is not for a document */
export function soughtBy(target: string): Sought | undefined {
  if (!target.startsWith('/.well-known/')) return undefined;
  const [found, path = ''] = RESOURCE_METADATA.exec(target) ?? [];
  if (found !== undefined) return { kind: 'resource', path };
  return SERVER_METADATA.test(target) ? { kind: 'server' } : undefined;
}

/**
 * @param origin of the tunnel's host, as it was asked
 * @param path of the resource
 */
export function resourceMetadata(origin: string, path: string, issuer: string): object {
  return {
    resource: `${origin}${writtenPath(path)}`,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
  };
}

/** Maximum length of a path that a challenge repeats. */
const CHALLENGE_PATH_MAX_LENGTH = 1024;

/**
 * The challenge to a client (RFC 9728 section 5.1).
 *
 * @param target in origin form
 * @param isWrong whether it has sent a token
 */
export function challenge(origin: string, target: string, isWrong: boolean): string {
  const [path = '/'] = target.split('?', 1);
  const isLong = path === '/' || path.length > CHALLENGE_PATH_MAX_LENGTH;
  const address = `${origin}${RESOURCE_METADATA_PATH}${isLong ? '' : writtenPath(path)}`;
  return `Bearer resource_metadata="${address}"${isWrong ? ', error="invalid_token"' : ''}`;
}

/** A path may have any bytes but blanks; quotes would end the challenge. */
function writtenPath(path: string): string {
  return path.replaceAll(
    /[^\w.~:/?[\]@!$&'()*+,;=%-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
