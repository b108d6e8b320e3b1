/** A connection through a proxy: CONNECT (RFC 9110 section 9.3.6), then TLS inside it if wanted. */
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { uriHost } from '../../../shared/host.ts';
import { HeadReader } from '../../../shared/http1/head-reader.ts';
import { parseResponseHead } from '../../../shared/http1/head.ts';
import { PROXY_HEAD_MAX_BYTES } from '../limits.ts';
import { type Attempt, dial, type DialHandler, type DialOptions, tlsConnectOptions } from './dial.ts';
import { say, SaidError } from '../said/said.ts';
import { sayNetworkError } from './errors.ts';
import type { ProxyAddress } from './proxy-address.ts';

/** Like {@link dial}, but through a proxy; `options.host` is a name for the proxy to look up. */
export class ProxyDial implements Attempt, DialHandler {
  readonly #proxy: ProxyAddress;
  readonly #options: DialOptions;
  readonly #reader = new HeadReader(PROXY_HEAD_MAX_BYTES);
  readonly #onHeadBytes = (chunk: Buffer): void => this.#push(chunk);
  readonly #onGone = (): void =>
    this.#fail(new SaidError(say('network.proxyClosed', { proxy: this.#proxy.name })));
  #handler: DialHandler | undefined;
  #dial: Attempt | undefined;
  #socket: Socket | undefined;

  /** @param proxyTls for a proxy that is reached with TLS */
  constructor(
    proxy: ProxyAddress,
    proxyTls: Pick<DialOptions, 'tls'>,
    options: DialOptions,
    handler: DialHandler,
  ) {
    this.#proxy = proxy;
    this.#options = options;
    this.#handler = handler;
    const { keepAliveMs = 0 } = options;
    this.#dial = dial({ host: proxy.hostname, port: proxy.port, keepAliveMs, ...proxyTls }, this);
  }

  cancel(): void {
    this.#handler = undefined;
    this.#dial?.cancel();
    this.#socket?.destroy();
  }

  connected(socket: Socket): void {
    this.#dial = undefined;
    this.#socket = socket;
    const { host, port } = this.#options;
    const authority = `${uriHost(host)}:${port}`;
    const { authorization } = this.#proxy;
    socket.on('data', this.#onHeadBytes).on('end', this.#onGone).on('close', this.#onGone);
    socket.write(
      `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n` +
        (authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`) +
        '\r\n',
    );
  }

  failed(error: Error): void {
    this.#fail(new SaidError(say('network.proxy', { proxy: this.#proxy.name, why: sayNetworkError(error) })));
  }

  #push(chunk: Buffer): void {
    const socket = this.#socket;
    const end = this.#reader.push(chunk);
    if (socket === undefined || end === undefined) return;
    const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
    // In neither TLS nor HTTP does the server speak first.
    if (head === undefined || typeof end === 'string' || end.rest.length > 0)
      return this.#fail(new SaidError(say('network.noProxy', { proxy: this.#proxy.name })));
    if (head.status < 200 || head.status > 299) return this.#fail(this.#refusal(head.status));
    socket.off('data', this.#onHeadBytes).off('end', this.#onGone).off('close', this.#onGone);
    if (this.#options.tls === undefined) this.#finish(socket);
    else this.#secure(socket);
  }

  #refusal(status: number): Error {
    const { name, authorization } = this.#proxy;
    if (status !== 407)
      return new SaidError(say('network.proxyRefused', { proxy: name, status, host: this.#options.host }));
    return new SaidError(
      say(authorization === undefined ? 'network.proxyLogin' : 'network.proxyRefusedLogin', { proxy: name }),
    );
  }

  #secure(raw: Socket): void {
    const { host, tls } = this.#options;
    if (tls === undefined) return;
    const socket = connectTls({ socket: raw, ...tlsConnectOptions(host, tls) });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', this.#onGone);
    socket.on('secureConnect', () => {
      socket.off('close', this.#onGone);
      this.#finish(socket);
    });
  }

  #finish(socket: Socket): void {
    const handler = this.#handler;
    this.#handler = undefined;
    handler?.connected(socket);
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    this.cancel();
    handler.failed(error);
  }
}
