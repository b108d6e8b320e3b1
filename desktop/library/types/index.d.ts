/**
 * Culvert as a library (library.md): gives a local port, or a server of this process, a public address for as long
 * as it is needed.
 */
import type { EventEmitter } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';

/** Options of a tunnel. The relay, or `culvert login`, decides about options that are not given. */
export interface TunnelOptions {
  /** the name in the address: 2-63 lowercase letters, digits and hyphens */
  readonly name?: string | undefined;
  /** whether visitors also reach it at every host `{any}--{name}`, where any text stands before the name */
  readonly wildcard?: boolean | undefined;
  /** time to live: a duration such as `30m` or `4h`; without it and `idle`, the tunnel is extended until it is closed */
  readonly ttl?: string | undefined;
  /** whether every request and byte restarts the time to live */
  readonly idle?: boolean | undefined;
  /** who may visit; anyone without it */
  readonly access?: AccessOptions | undefined;
  /** tokens for programs, in addition to those of `access` */
  readonly tokens?: AccessOptions['tokens'];
  /** the Host that the service sees: `keep` (the address visitors use), `local`, or a name */
  readonly hostHeader?: string | undefined;
  /** headers to set in requests that the service receives; they replace all of that name */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined;
  /** names of headers to remove from requests */
  readonly removeRequestHeaders?: readonly string[] | undefined;
  /** headers to set in responses */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** names of headers to remove from responses */
  readonly removeResponseHeaders?: readonly string[] | undefined;
  /** whether responses are compressed: `auto` (unless the relay is on this machine or in a private network), `on` or `off` */
  readonly compress?: 'auto' | 'on' | 'off' | undefined;
  /** address of the relay; by default `CULVERT_RELAY`, then the one you logged in to */
  readonly relay?: string | undefined;
  /** API key; by default `CULVERT_API_KEY`, then the one you logged in with */
  readonly key?: string | undefined;
  /** whether the key may be sent unencrypted (http://) to a relay on another machine */
  readonly insecure?: boolean | undefined;
  /** closes the tunnel, or cancels opening it */
  readonly signal?: AbortSignal | undefined;
}

export interface ExposeOptions extends TunnelOptions {
  /** local port, 1 to 65535 */
  readonly port: number;
  /** the machine that has the port; by default this one */
  readonly host?: string | undefined;
  /** whether the port speaks HTTPS */
  readonly https?: boolean | undefined;
  /**
   * the protocol of the service: `http1` (the default), `h2c` (HTTP/2 without TLS, used by most gRPC servers) or `h2`
   * (HTTP/2 over TLS)
   */
  readonly upstream?: 'http1' | 'h2c' | 'h2' | undefined;
  /**
   * what the tunnel carries: `http` (the default), `tls` (TLS that ends at the service) or `tcp` (any protocol over TCP, at a
   * port of the relay). For `tls` and `tcp`, options about HTTP are errors, and `access` has only `allow`.
   */
  readonly protocol?: 'http' | 'tls' | 'tcp' | undefined;
  /** with `tcp`: the port of the relay; by default one that the relay chooses */
  readonly remotePort?: number | undefined;
  /** with `tls` and `tcp`: begins each local connection with a header of the PROXY protocol, version 2 */
  readonly proxyProtocol?: boolean | undefined;
}

/** Visitors must come from a network of `allow`, and use one of the other ways, if any of these is given. */
export interface AccessOptions {
  /** addresses and networks */
  readonly allow?: readonly string[] | undefined;
  /** HTTP Basic */
  readonly basic?: readonly { readonly user: string; readonly password: string }[] | undefined;
  /** visitors type it into a page; 4 to 128 characters */
  readonly password?: string | undefined;
  /** signed links */
  readonly links?: boolean | undefined;
  /** you approve visitors one by one */
  readonly knock?: boolean | undefined;
  /** programs send them as `Authorization: Bearer`; the relay makes those without `token`: see {@link Tunnel.tokens} */
  readonly tokens?: readonly { readonly name: string; readonly token?: string | undefined }[] | undefined;
  /** people who sign in with the relay's identity provider: `ann@example.com`, `*@example.com`, `group:NAME` or `*` */
  readonly sign_in?: readonly string[] | undefined;
  /** agents (MCP clients) ask for access by OAuth; you approve them, or they sign in as the other ways say */
  readonly oauth?: boolean | undefined;
}

/**
 * A completed request. Values of secret parameters in `target` are replaced. For a connection of a TLS or TCP tunnel that
 * has ended, `method` is `TLS` or `TCP`, and `target` the visitor's address.
 */
export interface TunnelRequest {
  readonly method: string;
  readonly target: string;
  /** `undefined` if there was no response */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** whether the response broke off, or the visitor left */
  readonly isBroken: boolean;
  /** of a WebSocket or an event stream: how many messages it has carried */
  readonly messages?: MessageCounts | undefined;
}

export interface MessageCounts {
  readonly kind: 'websocket' | 'event-stream';
  readonly fromVisitor: number;
  readonly fromService: number;
  /** control frames in both directions; comments of an event stream */
  readonly control: number;
}

export interface TunnelEvents {
  request: [request: TunnelRequest];
  /** The relay cannot be reached for the moment. The tunnel keeps trying. */
  reconnecting: [why: string];
  /** after `reconnecting` */
  online: [];
  /** The tunnel has ended; `why` is a sentence: `close` was called, it was closed from elsewhere, or it expired. */
  offline: [why: string];
}

export interface TunnelUrls {
  /** missing for a TCP tunnel */
  readonly subdomain?: string;
  /** on the relay's own host, if the relay has this form */
  readonly path?: string;
  /** with the account's subdomain, if it has one */
  readonly account?: string;
  /** with the account's own domain, if the tunnel has one */
  readonly domain?: string;
  /** of all hosts, if the tunnel is a wildcard one; `*` stands for any label */
  readonly wildcard?: string;
}

export interface Tunnel extends EventEmitter<TunnelEvents>, AsyncDisposable {
  /** identifies the tunnel in the API and in `culvert` */
  readonly id: string;
  /** the address to share */
  readonly url: string;
  /** all addresses of the tunnel; {@link url} is one of them */
  readonly urls: TunnelUrls;
  /** the tokens that the relay has made, by name; it shows them only now */
  readonly tokens: Readonly<Record<string, string>>;
  /**
   * Visits the tunnel as `fetch` does, even if its host ends in `.localhost`, which Node does not resolve on every system.
   *
   * @param target a path such as `/hook?a=1`, or a whole address, such as one of {@link urls}; `/` by default
   * @throws TypeError if there is no response
   */
  fetch(target?: string | URL, init?: RequestInit): Promise<Response>;
  /** Lets the process end while the tunnel is open, which then remains at the relay until it expires. */
  unref(): this;
  /** Closes the tunnel, and the server if {@link expose} started it. Resolves when both have ended; never rejects. */
  close(): Promise<void>;
}

/** A Koa app. */
export interface AppWithCallback {
  callback(): RequestListener;
}

/**
 * Opens a tunnel to a port.
 *
 * @returns once visitors can reach it
 * @throws Error with a message for people: no relay, no key, or a refusal of the relay
 */
export function expose(options: ExposeOptions): Promise<Tunnel>;

/**
 * Opens a tunnel to a server of this process. A server that is not listening, or an app (Express, Koa, any request
 * listener), gets a loopback port that only the tunnel can use.
 */
export function expose(
  server: Server | SecureServer | RequestListener | AppWithCallback,
  options?: TunnelOptions,
): Promise<Tunnel>;
