/**
 * The client's side of the handshake of a data WebSocket (RFC 6455 section 4.1, spec.md section 4.7). It is our own
 * because a visitor waits for every one of them and a general implementation takes 1.5 to 1.9 times the CPU (design.md).
 */
import { hash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { HeadReader } from '../../shared/http1/head-reader.ts';
import { fieldValue, listMembers } from '../../shared/http1/fields.ts';
import { parseResponseHead, type ResponseHead } from '../../shared/http1/head.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { HANDSHAKE_GUID } from '../../shared/websocket/handshake.ts';
import { dial } from './dial.ts';
import { describeNetworkError, RelayRefusal, RelayUnreachable } from './errors.ts';
import { DATA_HANDSHAKE_TIMEOUT_MS, DATA_KEEP_ALIVE_MS, UPGRADE_HEAD_MAX_BYTES } from './limits.ts';
import { tlsServerName, type RelayAddress } from './relay-address.ts';

/** Opens data sockets to one relay. */
export class DataDialer {
  readonly #relay: RelayAddress;
  #knownAddress: string | undefined;

  constructor(relay: RelayAddress) {
    this.#relay = relay;
  }

  /** An IP address at which the relay answered: tried first, which saves a name look-up for each visitor. */
  prefer(address: string | undefined): void {
    this.#knownAddress = address;
  }

  /**
   * Opens the data socket of a pending connection, within {@link DATA_HANDSHAKE_TIMEOUT_MS}.
   *
   * @param connectionId the `id` of a `connection` message
   * @param signal destroys the socket when aborted, before and after it is open
   * @throws RelayRefusal when the relay answers with an HTTP error: 404 when the visitor is gone
   * @throws RelayUnreachable
   */
  open(connectionId: string, signal: AbortSignal): Promise<WebSocketByteStream> {
    return this.#open(`id=${encodeURIComponent(connectionId)}`, undefined, signal);
  }

  /**
   * Offers a data socket for the next visitor of a tunnel (contract.md, WebSockets: warm data sockets).
   *
   * @param key API key of the tunnel's owner
   * @param signal as for {@link open}
   * @throws RelayRefusal 429 when there are enough
   * @throws RelayUnreachable
   */
  offer(tunnelId: string, key: string, signal: AbortSignal): Promise<WebSocketByteStream> {
    return this.#open(`tunnel_id=${encodeURIComponent(tunnelId)}`, key, signal);
  }

  async #open(query: string, key: string | undefined, signal: AbortSignal): Promise<WebSocketByteStream> {
    const deadline = performance.now() + DATA_HANDSHAKE_TIMEOUT_MS;
    try {
      const socket = await this.#dial(deadline, signal);
      return await upgrade(socket, { host: this.#relay.host, query, key }, deadline);
    } catch (error) {
      if (error instanceof RelayRefusal) throw error;
      const why = describeNetworkError(error);
      throw new RelayUnreachable(`no data connection to ${this.#relay.origin}: ${why}`, { cause: error });
    }
  }

  async #dial(deadline: number, signal: AbortSignal): Promise<Socket> {
    const { hostname } = this.#relay;
    const known = this.#knownAddress;
    if (known === undefined || known === hostname) return this.#dialHost(hostname, deadline, signal);
    try {
      return await this.#dialHost(known, deadline, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      return this.#dialHost(hostname, deadline, signal);
    }
  }

  #dialHost(host: string, deadline: number, signal: AbortSignal): Promise<Socket> {
    const { port, secure } = this.#relay;
    const timeoutMs = Math.max(1, deadline - performance.now());
    const tls = secure ? { tls: { serverName: tlsServerName(this.#relay) } } : {};
    return dial({ host, port, timeoutMs, signal, keepAliveMs: DATA_KEEP_ALIVE_MS, ...tls });
  }
}

/** Which data socket is asked for. */
interface UpgradeTarget {
  /** of the relay */
  readonly host: string;
  readonly query: string;
  /** API key, where one is needed */
  readonly key: string | undefined;
}

/** Sends the upgrade request and waits for the 101. */
function upgrade(socket: Socket, target: UpgradeTarget, deadline: number): Promise<WebSocketByteStream> {
  const nonce = randomBytes(16).toString('base64');
  const reader = new HeadReader(UPGRADE_HEAD_MAX_BYTES);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => fail(new Error('it did not answer in time')),
      deadline - performance.now(),
    );
    socket.on('data', onData);
    socket.once('end', onGone);
    socket.once('close', onGone);
    socket.write(upgradeRequest(target, nonce));

    function onData(chunk: Buffer): void {
      const head = reader.push(chunk);
      if (head === undefined) return;
      if (typeof head === 'string') {
        fail(new Error('its answer is not HTTP'));
        return;
      }
      const error = checkUpgrade(parseResponseHead(head.head), nonce);
      if (error !== undefined) {
        fail(error);
        return;
      }
      release();
      socket.pause();
      resolve(new WebSocketByteStream(socket, 'client', head.rest));
    }

    function onGone(): void {
      fail(new Error('the connection was closed'));
    }

    function fail(error: Error): void {
      release();
      socket.destroy();
      reject(error);
    }

    function release(): void {
      clearTimeout(timer);
      socket.off('data', onData);
      socket.off('end', onGone);
      socket.off('close', onGone);
    }
  });
}

function upgradeRequest({ host, query, key }: UpgradeTarget, nonce: string): string {
  return (
    `GET /ws/data?${query} HTTP/1.1\r\nHost: ${host}\r\n` +
    (key === undefined ? '' : `Authorization: Bearer ${key}\r\n`) +
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${nonce}\r\n\r\n`
  );
}

/** Why the answer is not the agreement RFC 6455 section 4.1 asks for; `undefined` when it is. */
function checkUpgrade(head: ResponseHead | undefined, nonce: string): Error | undefined {
  if (head === undefined) return new Error('its answer is not HTTP');
  const { status, fields } = head;
  if (status !== 101) return new RelayRefusal(status, `the relay answered with status ${status}`);
  const accept = hash('sha1', nonce + HANDSHAKE_GUID, 'base64');
  const agreed =
    fieldValue(fields, 'upgrade')?.toLowerCase() === 'websocket' &&
    listMembers(fields, 'connection').includes('upgrade') &&
    fieldValue(fields, 'sec-websocket-accept') === accept &&
    // Nothing was offered, so nothing may be chosen.
    fieldValue(fields, 'sec-websocket-extensions') === undefined &&
    fieldValue(fields, 'sec-websocket-protocol') === undefined;
  return agreed ? undefined : new Error('its answer is not the one of a WebSocket');
}
