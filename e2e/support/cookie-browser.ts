/** A browser as far as redirects, forms and cookies go: one jar, and every step visible to the test. */
import assert from 'node:assert/strict';
import { type Field, type Response, visit } from './raw-http.ts';
import { BROWSER } from './locked-tunnels.ts';

interface Cookie {
  readonly host: string;
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

export interface Visited extends Response {
  readonly url: URL;
}

export class CookieBrowser {
  /** host-only cookies of all hosts */
  cookies: Cookie[] = [];
  /** the addresses that were visited */
  readonly visited: string[] = [];
  readonly #portOf: (url: URL) => number;

  /** @param portOf where an address leads to on this machine; by default to its own port */
  constructor(portOf = ({ port }: URL): number => Number(port)) {
    this.#portOf = portOf;
  }

  /** Opens an address of this machine, and follows no redirect. */
  async step(
    address: string | URL,
    { method = 'GET', body, headers = [BROWSER] }: { method?: string; body?: string; headers?: Field[] } = {},
  ): Promise<Visited> {
    const url = new URL(address);
    this.visited.push(url.href);
    const cookie = this.#cookiesFor(url);
    const form: Field[] = body === undefined ? [] : [['Content-Type', 'application/x-www-form-urlencoded']];
    const response = await visit(this.#portOf(url), {
      host: url.host,
      target: url.pathname + url.search,
      method,
      headers: [...headers, ...form, ...(cookie === '' ? [] : [['Cookie', cookie] as const])],
      ...(body !== undefined && { body }),
    });
    for (const line of response.head.all('set-cookie')) this.#keep(url, line);
    return { ...response, url };
  }

  /** Opens an address and follows redirects. @param stop ends before an address is opened */
  async open(address: string | URL, stop: (url: URL) => boolean = () => false): Promise<Visited> {
    let response = await this.step(address);
    for (let count = 0; count < 20; count += 1) {
      const location = response.head.field('location');
      if (response.status < 300 || response.status >= 400 || location === undefined) return response;
      const next = new URL(location, response.url);
      if (stop(next)) return response;
      response = await this.step(next);
    }
    assert.fail(`redirected endlessly: ${this.visited.slice(-4).join(' ')}`);
  }

  /** Submits the page of an identity provider, and follows redirects. */
  async signInAs(account: string, page: Visited, stop?: (url: URL) => boolean): Promise<Visited> {
    assert.match(page.text, /name="account"/, `${page.status} at ${page.url.href}`);
    const body = new URLSearchParams({ account }).toString();
    const { head, url } = await this.step(page.url, { method: 'POST', body });
    return await this.open(new URL(head.field('location') ?? assert.fail('no redirect'), url), stop);
  }

  #cookiesFor({ hostname, pathname }: URL): string {
    return this.cookies
      .filter(({ host, path }) => {
        const isBelow = pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
        return host === hostname && isBelow;
      })
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  #keep({ hostname: host, pathname }: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const [name = '', ...rest] = pair.split('=');
    const of = (wanted: string): string | undefined =>
      attributes.find((each) => each.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = of('path') ?? (pathname.slice(0, pathname.lastIndexOf('/')) || '/');
    this.cookies = this.cookies.filter(
      (cookie) => cookie.host !== host || cookie.name !== name || cookie.path !== path,
    );
    const isOver = of('max-age') === '0' || Date.parse(of('expires') ?? '') < Date.now();
    if (!isOver) this.cookies.push({ host, path, name, value: rest.join('=') });
  }
}
