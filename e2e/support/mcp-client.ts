/** The client of the MCP SDK, as programs use it that ask for access by OAuth. */
import { randomBytes } from 'node:crypto';
import {
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { type Field, visit } from './raw-http.ts';

const NO_BODY: ReadonlySet<number> = new Set([202, 204, 304]);

/** Resolves every host to this machine. */
async function fetchHere(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const { host, port, pathname, search } = new URL(input);
  const { method = 'GET', body } = init;
  const headers = [...new Headers(init.headers)] satisfies Field[];
  const text = body === undefined || body === null ? undefined : await new Response(body).text();
  const type: Field[] =
    body instanceof URLSearchParams ? [['Content-Type', 'application/x-www-form-urlencoded']] : [];
  const given = { method, host, target: pathname + search, headers: [...headers, ...type] };
  const seen = await visit(Number(port), text === undefined ? given : { ...given, body: text });
  return new Response(NO_BODY.has(seen.status) ? null : seen.text, {
    status: seen.status,
    headers: seen.head.fields.map(([name, value]): [string, string] => [name, value]),
  });
}

/** What a program keeps of its authorization. */
export class TestProvider implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:33418/back';
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly #state = randomBytes(8).toString('hex');
  /** where the person is sent */
  asked: URL | undefined;
  given: StoredOAuthTokens | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #verifier = '';

  /** @param documentUrl its Client ID Metadata Document; `undefined` for a client that registers */
  constructor(documentUrl?: string) {
    if (documentUrl !== undefined) this.clientMetadataUrl = documentUrl;
    this.clientMetadata = { client_name: 'SDK', redirect_uris: [this.redirectUrl] };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.given;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.given = tokens;
  }

  redirectToAuthorization(address: URL): void {
    this.asked = address;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

/** @param url of the MCP server */
export function sdkTransport(url: string, authProvider: TestProvider): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), { authProvider, fetch: fetchHere });
}
