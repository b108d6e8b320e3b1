/** The WebSocket endpoints: who may open a control or a data socket (protocol.md sections 5 and 6). */
import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { type ReadSocket, ScheduledReads } from '../../shared/scheduler/fair-reads.ts';
import {
  type ByteStreamOptions,
  HANDSHAKE_GUID,
  WebSocketByteStream,
} from '../../shared/websocket/byte-stream.ts';
import { mustReach, reachesTunnel, sameHash } from '../accounts/api-keys.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import type { Clock } from '../clock.ts';
import type { KeyOwner } from '../store/records.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import type { Move } from './client-streams.ts';
import {
  CONTROL_STREAM,
  ControlSocket,
  type ControlSocketOptions,
  type SocketKey,
} from './control-socket.ts';
import type { Hub } from './hub.ts';
import type { ForwardedUpgrade, Forwarder, HopRequest } from './ownership.ts';
import type { Pending } from './waiting-visitors.ts';

/**
 * Maximum number of control and data sockets opened by clients; about 7 KB each. Fewer than the file descriptors
 * that systems allow a process.
 * @limit operator: Control and data sockets of clients | 503 `too-many-sockets`
 */
export const CLIENT_SOCKETS_MAX = 100_000;

/** A peer's request to upgrade to `websocket`; its connection is not yet given away. */
export interface UpgradeRequest {
  /** path and query, in origin form */
  readonly target: string;
  /** address that wrong keys are counted for, if any */
  readonly address: string | undefined;
  /** The value of the first field of that name, given in lower case. */
  header(name: string): string | undefined;
  /** Gives the connection away, or nothing if the peer has disconnected. `head`: bytes read after the request. */
  takeOver(): { socket: Duplex; head: Buffer } | undefined;
}

const CONTROL_PATH = '/ws/control';
const DATA_PATH = '/ws/data';
const TRUNK_PATH = '/ws/trunk';

interface KeyedTunnel {
  readonly tunnel: LiveTunnel;
  readonly key: SocketKey;
}

interface UpgradesOptions {
  readonly hub: Hub;
  readonly registry: TunnelRegistry;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  /** control and data sockets of all clients that may be open */
  readonly maxSockets: number;
  readonly coordination: Pick<Coordination, 'followTunnel'>;
  readonly forwarder: Pick<Forwarder, 'upgrade'>;
}

export class Upgrades {
  readonly #options: UpgradesOptions;
  /** control and data sockets that are open */
  #sockets = 0;

  constructor(options: UpgradesOptions) {
    this.#options = options;
  }

  /** Whether the path is one of the WebSocket endpoints. */
  handles(path: string): boolean {
    return path === CONTROL_PATH || path === DATA_PATH || path === TRUNK_PATH;
  }

  /**
   * Takes the connection over, or refuses with the connection untouched.
   *
   * @throws ApiError in the order of protocol.md section 5.4
   */
  async upgrade(request: UpgradeRequest): Promise<void> {
    if (request.header('sec-websocket-version') !== '13') {
      throw new ApiError(API_ERRORS.upgradeRequired, { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' });
    }
    const key = request.header('sec-websocket-key');
    if (!isHandshakeKey(key)) throw new ApiError(API_ERRORS.invalidHandshake);
    const [path, query] = request.target.split('?', 2);
    const parameters = new URLSearchParams(query);
    if (path === CONTROL_PATH) await this.#openControl(request, key, parameters);
    else if (path === TRUNK_PATH) await this.#openTrunk(request, key, parameters);
    else await this.#openData(request, key, parameters);
  }

  async #openControl(request: UpgradeRequest, key: string, query: URLSearchParams): Promise<void> {
    const id = query.get('tunnel_id') ?? '';
    if (id === '') throw new ApiError(API_ERRORS.missingTunnelId);
    const { tunnel, key: usedKey } = await this.#ownTunnel(request, id);
    if (!this.#options.hub.admits(tunnel)) throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': '1' });
    const takesEvents = query.get('events') === '1';
    const now = this.#options.clock.monotonic();
    this.#switchTo(request, key, CONTROL_STREAM, (socket, connection) =>
      this.#attach(tunnel, socket, { connection, key: usedKey, now, takesEvents }),
    );
  }

  /** A separate function, so that the request's data is not kept as long as the socket. */
  #attach(tunnel: LiveTunnel, socket: WebSocketByteStream, options: ControlSocketOptions): void {
    const { connection } = options;
    // The client's visitors may come to any relay once it is told that it is connected.
    connection.cork();
    const control = new ControlSocket(socket, options, (closed, code) =>
      this.#options.hub.detach(tunnel, closed, code),
    );
    const claimed = this.#options.hub.attach(tunnel, control);
    if (claimed === undefined) connection.uncork();
    else void claimed.then(() => connection.uncork());
  }

  async #openData(request: UpgradeRequest, key: string, query: URLSearchParams): Promise<void> {
    const id = query.get('id') ?? '';
    const tunnelId = query.get('tunnel_id') ?? '';
    if ((id === '') === (tunnelId === '')) throw new ApiError(API_ERRORS.missingId);
    if (id !== '') return await this.#openAnnounced(request, key, id, query.get('ends') === '1');
    // Data sockets cannot be opened in advance (protocol.md section 6.4).
    await this.#keyOwner(request);
    throw new ApiError(API_ERRORS.connectionNotFound);
  }

  /**
   * Opens a data socket or a trunk that arrived on another relay; it is not forwarded again.
   *
   * @throws ApiError with the connection untouched
   */
  async openHop(hop: HopRequest, socket: Duplex): Promise<void> {
    const { kind, id, key, authorization, via } = hop;
    const request: UpgradeRequest = {
      target: DATA_PATH,
      // The forwarding relay has checked the key.
      address: undefined,
      header: (name) => (name === 'authorization' ? authorization : undefined),
      takeOver: () => (socket.destroyed ? undefined : { socket, head: Buffer.alloc(0) }),
    };
    if (kind === 'trunk') return this.#acceptTrunk(request, key, await this.#keyedTunnel(request, id), via);
    const owner = await this.#keyOwner(request);
    this.#openFor(request, hop, this.#options.hub.awaited.find(id), owner, via);
  }

  async #openAnnounced(request: UpgradeRequest, key: string, id: string, carriesEnd: boolean): Promise<void> {
    const owner = await this.#keyOwner(request);
    const awaiting = this.#options.hub.awaited.find(id);
    const upgrade = { kind: 'data', id, key, carriesEnd } as const;
    if (awaiting === undefined && (await this.#passOn(request, upgrade)) === 'passed') return;
    this.#openFor(request, upgrade, awaiting, owner);
  }

  /** A key is optional for an announced connection, but must be valid if present. */
  async #keyOwner(request: UpgradeRequest): Promise<KeyOwner | undefined> {
    const authorization = request.header('authorization');
    if (authorization === undefined) return undefined;
    return await this.#options.authenticator.authenticate(authorization, request.address);
  }

  /** @throws ApiError 404 if nothing waits, or the key belongs to another account */
  #openFor(
    request: UpgradeRequest,
    { key, carriesEnd }: Pick<ForwardedUpgrade, 'key' | 'carriesEnd'>,
    awaiting: Pending | Move | undefined,
    owner: KeyOwner | undefined,
    via?: string,
  ): void {
    if (awaiting === undefined || (owner !== undefined && !owns(owner, awaiting.tunnel))) {
      throw new ApiError(API_ERRORS.connectionNotFound);
    }
    this.#switchTo(request, key, readsOf(awaiting.tunnel), (socket) => {
      if (carriesEnd && awaiting.tunnel.isRaw) socket.carryEnd();
      this.#options.hub.open(awaiting, socket, owner?.keyId, via);
    });
  }

  /**
   * @returns `passed` if another relay has it now, which then responds instead of this one; or the status with which it
   *   refuses
   */
  async #passOn(
    request: UpgradeRequest,
    upgrade: Omit<ForwardedUpgrade, 'authorization'>,
  ): Promise<'passed' | number | undefined> {
    const authorization = request.header('authorization');
    const join = await this.#options.forwarder.upgrade({ ...upgrade, authorization });
    if (typeof join !== 'function') return join;
    let taken;
    try {
      taken = this.#takeOver(request);
    } finally {
      join(taken);
    }
    return 'passed';
  }

  async #openTrunk(request: UpgradeRequest, key: string, query: URLSearchParams): Promise<void> {
    if (!this.#options.hub.takesTrunks) throw new ApiError(API_ERRORS.notFound);
    const tunnelId = query.get('tunnel_id') ?? '';
    if (tunnelId === '') throw new ApiError(API_ERRORS.missingTunnelId);
    const keyed = await this.#keyedTunnel(request, tunnelId);
    if (this.#options.hub.offers(keyed.tunnel) === 'offline') {
      const upgrade = { kind: 'trunk', id: tunnelId, key, carriesEnd: false } as const;
      const result = await this.#passOn(request, upgrade);
      if (result === 'passed') return;
      if (result === API_ERRORS.tooManyTrunks.status) throw tooManyTrunks();
      if (result === API_ERRORS.unavailable.status)
        throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': '1' });
    }
    this.#acceptTrunk(request, key, keyed);
  }

  /** @throws ApiError 404 if the tunnel's client is not on this relay, 429 if it has enough trunks */
  #acceptTrunk(request: UpgradeRequest, key: string, { tunnel, key: used }: KeyedTunnel, via?: string): void {
    const offers = this.#options.hub.offers(tunnel);
    if (offers === 'offline') throw new ApiError(API_ERRORS.tunnelNotConnected);
    if (offers === 'full') throw tooManyTrunks();
    this.#switchTo(request, key, readsOf(tunnel), (socket) =>
      this.#options.hub.get(tunnel.id)?.addTrunk(socket, used, via),
    );
  }

  /** @throws ApiError 401, 404 */
  async #keyedTunnel(request: UpgradeRequest, id: string): Promise<KeyedTunnel> {
    return this.#heldTunnel(request, id) ?? (await this.#ownTunnel(request, id));
  }

  /**
   * The tunnel, if the key is the one of its client's control socket: everything opened with it is closed when it is
   * revoked, so the store need not be queried for every trunk that a client opens.
   *
   * @throws ApiError 401 for a missing or malformed key
   */
  #heldTunnel(request: UpgradeRequest, id: string): KeyedTunnel | undefined {
    const hash = this.#options.authenticator.hashOf(request.header('authorization'));
    const tunnel = this.#options.registry.byId(id);
    const key = tunnel === undefined ? undefined : this.#options.hub.get(tunnel.id)?.control?.key;
    return tunnel !== undefined && key !== undefined && sameHash(key.hash, hash)
      ? { tunnel, key }
      : undefined;
  }

  /** @throws ApiError 401, 404 */
  async #ownTunnel(request: UpgradeRequest, id: string): Promise<KeyedTunnel> {
    const owner = await this.#options.authenticator.authenticate(
      request.header('authorization'),
      request.address,
    );
    // Another relay may have given an agent's tunnel to another key of the account.
    if (this.#options.registry.byId(id) === undefined || owner.scope.kind === 'agent')
      await this.#options.coordination.followTunnel(id);
    const tunnel = this.#options.registry.byId(id);
    if (tunnel?.account.id !== owner.account.id) throw new ApiError(API_ERRORS.tunnelNotFound);
    mustReach(owner, tunnel);
    return { tunnel, key: { keyId: owner.keyId, hash: owner.hash, isAgents: owner.scope.kind === 'agent' } };
  }

  /**
   * Takes the connection over and responds with 101; the response and the first bytes of a request leave in one
   * packet.
   */
  #switchTo(
    request: UpgradeRequest,
    key: string,
    options: ByteStreamOptions,
    use: (socket: WebSocketByteStream, connection: Duplex) => void,
  ): void {
    const taken = this.#takeOver(request);
    if (taken === undefined) return;
    const preface = Buffer.from(switchingProtocols(key), 'latin1');
    use(new WebSocketByteStream(taken.socket, 'server', taken.head, { ...options, preface }), taken.socket);
  }

  /** @throws ApiError 503 if the maximum number of sockets is open */
  #takeOver(request: UpgradeRequest): ReturnType<UpgradeRequest['takeOver']> {
    if (this.#sockets >= this.#options.maxSockets) {
      throw new ApiError(API_ERRORS.tooManySockets, { 'Retry-After': '5' });
    }
    const taken = request.takeOver();
    if (taken === undefined) return undefined;
    this.#sockets += 1;
    taken.socket.on('close', this.#onClosed);
    return taken;
  }

  readonly #onClosed = (): void => {
    this.#sockets -= 1;
  };
}

function tooManyTrunks(): ApiError {
  return new ApiError(API_ERRORS.tooManyTrunks, { 'Retry-After': '60' });
}

/** Takes turns with others of its tunnel. */
function readsOf(tunnel: LiveTunnel): { readonly read: ReadSocket } {
  return { read: (socket, onChunk) => new ScheduledReads(socket, () => tunnel, { onChunk }) };
}

/** Whether a key may be used for a tunnel. */
function owns(owner: KeyOwner, tunnel: LiveTunnel): boolean {
  return owner.account.id === tunnel.account.id && reachesTunnel(owner, tunnel);
}

/* The server's part of the WebSocket opening handshake (RFC 6455 section 4.2). */

const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Whether the value of `Sec-WebSocket-Key` is 16 bytes in base64. */
function isHandshakeKey(key: string | undefined): key is string {
  return key !== undefined && KEY.test(key);
}

/** The 101 response to a handshake, without any extension or subprotocol. */
function switchingProtocols(key: string): string {
  const accept = createHash('sha1')
    .update(key + HANDSHAKE_GUID)
    .digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}
