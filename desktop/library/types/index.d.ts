/**
 * Culvert as a library (docs/library.md): a local port, or a server of this process, at a public address for as long as it is
 * needed.
 */
import type { EventEmitter } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';

/** What a tunnel is to be like. What is not given is decided by the relay, or by `culvert login`. */
export interface TunnelOptions {
  /** the name in the address: 2-63 lowercase letters, digits and hyphens */
  readonly name?: string | undefined;
  /** time to live: a duration such as `30m` or `4h` */
  readonly ttl?: string | undefined;
  /** whether every request and byte restarts the time to live */
  readonly idle?: boolean | undefined;
  /** who may come in; everybody without it */
  readonly access?: AccessOptions | undefined;
  /** the Host that the service sees: `keep` (the address visitors use), `local`, or a name */
  readonly hostHeader?: string | undefined;
  /** address of the relay; else `CULVERT_RELAY`, else the one signed in to */
  readonly relay?: string | undefined;
  /** API key; else `CULVERT_API_KEY`, else the one signed in with */
  readonly key?: string | undefined;
  /** whether the key may be sent unencrypted (http://) to a relay on another machine */
  readonly insecure?: boolean | undefined;
  /** closes the tunnel, or gives it up while it is being opened */
  readonly signal?: AbortSignal | undefined;
}

export interface ExposeOptions extends TunnelOptions {
  /** local port, 1 to 65535 */
  readonly port: number;
  /** the machine that has the port; this one without it */
  readonly host?: string | undefined;
  /** whether the port speaks HTTPS */
  readonly https?: boolean | undefined;
}

/** Visitors need one of the lower four, where any is given, and come from one of the networks of `allow`. */
export interface AccessOptions {
  /** addresses and networks */
  readonly allow?: readonly string[] | undefined;
  /** HTTP Basic */
  readonly basic?: readonly { readonly user: string; readonly password: string }[] | undefined;
  /** typed into a page; 4 to 128 characters */
  readonly password?: string | undefined;
  /** signed links */
  readonly links?: boolean | undefined;
  /** let in one by one */
  readonly knock?: boolean | undefined;
}

/** A request that is over. Values of secret parameters in `target` are replaced. */
export interface TunnelRequest {
  readonly method: string;
  readonly target: string;
  /** `undefined` if there was no response */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** the response broke off, or the visitor left */
  readonly isBroken: boolean;
}

export interface TunnelEvents {
  request: [request: TunnelRequest];
  /** the relay cannot be reached for the moment; it is tried again */
  reconnecting: [why: string];
  /** after `reconnecting` */
  online: [];
  /** the tunnel is over, for the reason in a sentence: closed by `close`, from elsewhere, or expired */
  offline: [why: string];
}

export interface Tunnel extends EventEmitter<TunnelEvents>, AsyncDisposable {
  /** names the tunnel in the API and in `culvert` */
  readonly id: string;
  /** the address to hand out */
  readonly url: string;
  /** Closes the tunnel, and the server if {@link expose} has started it. Resolves when both have ended; never rejects. */
  close(): Promise<void>;
}

/** An app of Koa. */
export interface AppWithCallback {
  callback(): RequestListener;
}

/**
 * Opens a tunnel to a port.
 *
 * @returns once visitors reach it
 * @throws Error with a text for people: no relay, no key, what the relay refuses
 */
export function expose(options: ExposeOptions): Promise<Tunnel>;

/**
 * Opens a tunnel to a server of this process. One that does not listen, and an app (Express, Koa, any request listener), gets
 * a port of loopback.
 */
export function expose(
  server: Server | SecureServer | RequestListener | AppWithCallback,
  options?: TunnelOptions,
): Promise<Tunnel>;
