/** The token and the revocation endpoint (RFC 6749 section 3.2, RFC 7636, RFC 7009), and registration (RFC 7591). */
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Grant } from '../store/queries/agent-queries.ts';
import { ACCESS_TOKEN_MS } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import { type AgentTokens, type ReadToken, sha256 } from './agent-tokens.ts';

/** RFC 7636 section 4.1. */
const VERIFIER = /^[\w.~-]{43,128}$/;

/** A response in JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: object;
}

/** RFC 6749 section 5.2. */
export function oauthError(error: string, description: string, status = 400): JsonAnswer {
  return { status, body: { error, error_description: description } };
}

interface TokenEndpointOptions {
  readonly store: Pick<Store, 'redeemCode' | 'rotateRefresh' | 'revokeToken'>;
  readonly tokens: AgentTokens;
  readonly agents: Pick<TunnelAgents, 'ended'>;
  readonly clock: Pick<Clock, 'now'>;
}

export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  /** @param fields of the form, each once @throws StoreError */
  async token(fields: ReadonlyMap<string, string>): Promise<JsonAnswer> {
    const client = fields.get('client_id');
    if (client === undefined) return oauthError('invalid_request', 'client_id is missing');
    switch (fields.get('grant_type')) {
      case 'authorization_code':
        return await this.#redeem(fields, sha256(client));
      case 'refresh_token':
        return await this.#refresh(fields, sha256(client));
      case undefined:
        return oauthError('invalid_request', 'grant_type is missing');
      default:
        return oauthError('unsupported_grant_type', 'use authorization_code or refresh_token');
    }
  }

  /** A client gives a token back. The response is the same for a token that is not valid. @throws StoreError */
  async revoke(fields: ReadonlyMap<string, string>): Promise<JsonAnswer> {
    const { store, tokens, agents, clock } = this.#options;
    const token = fields.get('token');
    if (token === undefined) return oauthError('invalid_request', 'token is missing');
    const read = tokens.read(token);
    if (read !== undefined && read.kind !== 'code') {
      const client = fields.get('client_id');
      const clientHash = client === undefined ? undefined : sha256(client);
      const ended = await store.revokeToken(read.id, read.hash, clientHash, clock.now());
      if (ended !== undefined) agents.ended(ended, 'agent revoked');
    }
    return { status: 200, body: {} };
  }

  async #redeem(fields: ReadonlyMap<string, string>, clientHash: string): Promise<JsonAnswer> {
    const verifier = fields.get('code_verifier') ?? '';
    const code = this.#read('code', fields.get('code'));
    if (code === undefined || !VERIFIER.test(verifier)) return WRONG;
    const { store } = this.#options;
    const given = {
      ...presented(code, fields, clientHash),
      challenge: hash('sha256', verifier, 'base64url'),
      redirectUri: fields.get('redirect_uri') ?? '',
    };
    return await this.#give(code.id, (next, now) => store.redeemCode(given, next, now));
  }

  async #refresh(fields: ReadonlyMap<string, string>, clientHash: string): Promise<JsonAnswer> {
    const refresh = this.#read('refresh', fields.get('refresh_token'));
    if (refresh === undefined) return WRONG;
    const { store } = this.#options;
    const given = presented(refresh, fields, clientHash);
    return await this.#give(refresh.id, (next, now) => store.rotateRefresh(given, next, now));
  }

  #read(kind: ReadToken['kind'], token: string | undefined): ReadToken | undefined {
    const read = this.#options.tokens.read(token ?? '');
    return read?.kind === kind ? read : undefined;
  }

  async #give(
    id: string,
    grant: (next: { access: string; refresh: string }, now: number) => Promise<Grant>,
  ): Promise<JsonAnswer> {
    const { tokens, agents, clock } = this.#options;
    const access = tokens.make('access', id);
    const refresh = tokens.make('refresh', id);
    const granted = await grant({ access: access.hash, refresh: refresh.hash }, clock.now());
    if (granted.kind === 'ended') agents.ended(granted.ended, 'agent misused');
    if (granted.kind === 'resource') return oauthError('invalid_target', 'the resource is another one');
    if (granted.kind !== 'granted') return WRONG;
    return {
      status: 200,
      body: {
        access_token: access.token,
        token_type: 'Bearer',
        expires_in: ACCESS_TOKEN_MS / 1000,
        refresh_token: refresh.token,
      },
    };
  }
}

/** It does not say what is wrong. */
const WRONG = oauthError(
  'invalid_grant',
  'the code or refresh token is not good, or not for this client, address and verifier',
);

function presented(
  { id, hash: tokenHash }: ReadToken,
  fields: ReadonlyMap<string, string>,
  clientHash: string,
) {
  return { id, hash: tokenHash, clientHash, resource: fields.get('resource') };
}
