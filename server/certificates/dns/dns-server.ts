/** The relay as the authoritative server of the names that dns-01 challenges are looked for at (RFC 8555 section 8.4). */
import type { Clock } from '../../clock.ts';
import type { Listeners } from '../../listeners.ts';
import type { Log } from '../../log.ts';
import type { Authority } from './authority.ts';
import { dnsAddresses } from './dns-addresses.ts';
import { type LoadTexts, PendingTexts } from './pending-texts.ts';
import { Responder } from './responder.ts';
import { SourceLimits } from './source-limits.ts';
import { TcpListener } from './tcp-listener.ts';
import { UdpListener } from './udp-listener.ts';

export interface DnsServerOptions {
  /** as `CULVERT_HOST` has it */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** with the sockets of the relay before, if there is one */
  readonly listeners: Listeners;
  readonly authority: Authority;
  readonly load: LoadTexts;
  readonly clock: Clock;
  readonly log: Log;
}

/** Ports that are tried where any may be taken, because one that is free for TCP may not be for UDP. */
const PORT_ATTEMPTS = 10;

export class DnsServer {
  readonly #listeners: (TcpListener | UdpListener)[] = [];
  readonly #options: DnsServerOptions;
  readonly #responder: Responder;

  private constructor(options: DnsServerOptions) {
    const { authority, load, clock } = options;
    this.#options = options;
    this.#responder = new Responder({
      authority,
      texts: new PendingTexts(load, clock),
      limits: { udp: new SourceLimits(clock), tcp: new SourceLimits(clock) },
    });
  }

  /** @throws the system's error when the port is taken, or an address is not one of this machine */
  static async start(options: DnsServerOptions): Promise<DnsServer> {
    const server = new DnsServer(options);
    try {
      await server.#listen(await dnsAddresses(options.host));
    } catch (error) {
      server.close();
      throw error;
    }
    return server;
  }

  /** Another relay has the same sockets: fulfilled when what this one has taken is answered. */
  async leave(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.leave()));
  }

  close(): void {
    for (const listener of this.#listeners.splice(0)) listener.close();
  }

  async #listen(addresses: readonly string[]): Promise<void> {
    let { port } = this.#options;
    for (const address of addresses) {
      port = await this.#bind(address, port);
      this.#options.log('dns listening', { address, port });
    }
  }

  async #bind(address: string, port: number): Promise<number> {
    const { clock, listeners } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const tcp = await TcpListener.bind(address, port, this.#responder, clock, listeners);
      try {
        this.#listeners.push(await UdpListener.bind(address, tcp.port, this.#responder, listeners), tcp);
        return tcp.port;
      } catch (error) {
        tcp.close();
        if (port !== 0 || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }
}
