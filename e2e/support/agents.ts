import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { CookieBrowser, Visited } from './cookie-browser.ts';
import { BROWSER } from './locked-tunnels.ts';
import { type Field, type Response, visit } from './raw-http.ts';

/** Where the clients of tests return to. */
export const RETURN = 'http://127.0.0.1:33418/back';
/** What RFC 7636 asks for: a verifier, and its challenge. */
export interface Proof {
  readonly verifier: string;
  readonly challenge: string;
}

export function newProof(): Proof {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A form of a page, with its fields. */
export interface Form {
  readonly action: string;
  readonly fields: Record<string, string>;
  /** names of those that a person fills in */
  readonly asked: readonly string[];
  readonly button: string;
}

/** The forms of a page. */
export function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].map(
    ([, action = '', content = '']) => {
      const inputs = [...content.matchAll(/<input [^>]*>/g)].map(([tag]) => ({
        name: attributeOf(tag, 'name'),
        value: attributeOf(tag, 'value'),
        isHidden: attributeOf(tag, 'type') === 'hidden',
      }));
      const fields = inputs.filter(({ isHidden }) => isHidden).map(({ name, value }) => [name, value]);
      return {
        action: unescapeHtml(action),
        fields: Object.fromEntries(fields) as Record<string, string>,
        asked: inputs.filter(({ isHidden }) => !isHidden).map(({ name }) => name),
        button: /<button[^>]*>([^<]*)<\/button>/.exec(content)?.[1] ?? '',
      };
    },
  );
}

function attributeOf(tag: string, name: string): string {
  return unescapeHtml(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '');
}

function unescapeHtml(text: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };
  return text.replaceAll(/&(amp|lt|gt|quot);/g, (_all, name: string) => entities[name] ?? '');
}

/** Sends a form as a person does. */
export async function submit(
  browser: CookieBrowser,
  page: Visited,
  button: string,
  filled: Record<string, string> = {},
  headers: Field[] = [],
): Promise<Visited> {
  const { action, fields } = formWith(page, button);
  const body = new URLSearchParams({ ...fields, ...filled }).toString();
  return await browser.step(new URL(action, page.url), {
    method: 'POST',
    body,
    headers: [BROWSER, ...headers],
  });
}

/** An MCP client that does each step of OAuth by hand. */
export class OAuthClient {
  readonly relay: string;
  readonly #port: number;
  readonly resource: string;
  id = '';
  redirectUri: string;
  proof = newProof();
  state = randomBytes(8).toString('hex');

  /** @param resource address at the tunnel */
  constructor(port: number, resource: string, redirectUri = RETURN) {
    this.#port = port;
    this.relay = `http://localhost:${port}`;
    this.resource = resource;
    this.redirectUri = redirectUri;
  }

  async register(fields: object = {}): Promise<Response> {
    const body = JSON.stringify({ client_name: 'Test App', redirect_uris: [this.redirectUri], ...fields });
    const response = await this.post('/oauth/register', body, [['Content-Type', 'application/json']]);
    if (response.status === 201) this.id = (JSON.parse(response.text) as { client_id: string }).client_id;
    return response;
  }

  async send(method: string, target: string, headers: readonly Field[] = []): Promise<Response> {
    return await visit(this.#port, { method, host: `localhost:${this.#port}`, target, headers });
  }

  async post(target: string, body: string, headers: readonly Field[] = []): Promise<Response> {
    const host = `localhost:${this.#port}`;
    return await visit(this.#port, { method: 'POST', host, target, headers, body });
  }

  /** @param changed parameters to leave out (`undefined`) or to send with another value */
  authorizeAddress(changed: Record<string, string | undefined> = {}): string {
    const parameters = {
      response_type: 'code',
      client_id: this.id,
      redirect_uri: this.redirectUri,
      state: this.state,
      code_challenge: this.proof.challenge,
      code_challenge_method: 'S256',
      resource: this.resource,
      ...changed,
    };
    const given = Object.entries(parameters).filter(
      (each): each is [string, string] => each[1] !== undefined,
    );
    return `${this.relay}/oauth/authorize?${new URLSearchParams(given).toString()}`;
  }

  async token(fields: Record<string, string>, headers: readonly Field[] = []): Promise<Response> {
    const type: Field = ['Content-Type', 'application/x-www-form-urlencoded'];
    return await this.post('/oauth/token', new URLSearchParams(fields).toString(), [type, ...headers]);
  }

  async redeem(code: string, changed: Record<string, string> = {}): Promise<Response> {
    return await this.token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      client_id: this.id,
      code_verifier: this.proof.verifier,
      resource: this.resource,
      ...changed,
    });
  }

  async refresh(token: string, changed: Record<string, string> = {}): Promise<Response> {
    const fields = { grant_type: 'refresh_token', refresh_token: token, client_id: this.id };
    return await this.token({ ...fields, resource: this.resource, ...changed });
  }

  async revoke(token: string, changed: Record<string, string> = {}): Promise<Response> {
    const type: Field = ['Content-Type', 'application/x-www-form-urlencoded'];
    const body = new URLSearchParams({ token, client_id: this.id, ...changed }).toString();
    return await this.post('/oauth/revoke', body, [type]);
  }
}

/** The code in the address that a browser is sent back to, which must be that of the client. */
export function codeIn(response: Response, client: OAuthClient): string {
  assert.equal(response.status, 303, response.text);
  const location = response.head.field('location') ?? assert.fail('there is no address');
  const url = new URL(location);
  assert.equal(location.split('?', 1)[0], client.redirectUri);
  assert.equal(url.searchParams.get('state'), client.state);
  assert.equal(url.searchParams.get('iss'), client.relay);
  return url.searchParams.get('code') ?? assert.fail(location);
}

export function tokensIn(response: Response): Tokens {
  assert.equal(response.status, 200, response.text);
  return JSON.parse(response.text) as Tokens;
}

/** The form with this button. */
export function formWith({ text }: Response, button: string): Form {
  return (
    formsOf(text).find((form) => form.button === button) ?? assert.fail(`no form "${button}" in ${text}`)
  );
}
