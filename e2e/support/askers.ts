/** Visitors who ask all the while, each question by itself, and remember what was not answered. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { dnsQuery } from '../../server/testing/dns-message.ts';
import { within } from './deadline.ts';
import { visit } from './handshakes.ts';

/** How long an answer may take on a busy machine. */
const ANSWER_MS = 20_000;

/** Asks once. @throws Error when there is no answer, or not the right one */
export type Ask = () => Promise<unknown>;

export class Asker {
  readonly faults: string[] = [];
  answered = 0;
  readonly #ask: Ask;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;

  /** @param atOnce questions that are open at any time */
  constructor(ask: Ask, atOnce: number) {
    this.#ask = ask;
    this.#loops = Array.from({ length: atOnce }, () => this.#loop());
  }

  /** Fulfilled when the last question is over. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#ask();
        this.answered += 1;
      } catch (error) {
        this.faults.push(String(error));
      }
    }
  }
}

let network = 0;

/** An address of a network that has asked least: servers limit each. */
function nextNetwork(): string {
  network += 1;
  return `127.${1 + (Math.floor(network / 250) % 60)}.${1 + (network % 250)}.1`;
}

/** Asks a DNS server for the texts at a name, over UDP, without trying again. */
export async function askUdp(address: string, port: number, name: string): Promise<void> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, nextNetwork());
    await once(socket, 'listening');
    const answer = once(socket, 'message');
    socket.send(dnsQuery(name), port, address);
    const [packet] = (await within(ANSWER_MS, 'an answer over UDP', answer)) as [Buffer];
    assertAnswered(packet);
  } finally {
    socket.close();
  }
}

/** Asks a DNS server for the texts at a name, over a connection of its own. */
export async function askTcp(address: string, port: number, name: string): Promise<void> {
  const socket = connect({ host: address, port, localAddress: nextNetwork() });
  try {
    const query = dnsQuery(name);
    socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 0xff]), query]));
    const answer = once(socket, 'data');
    // A connection that ends without an answer.
    const end = once(socket, 'close').then(() => Promise.reject(new Error('the connection has ended')));
    end.catch(() => {});
    const [packet] = (await within(ANSWER_MS, 'an answer over TCP', Promise.race([answer, end]))) as [Buffer];
    assertAnswered(packet.subarray(2));
  } finally {
    socket.destroy();
  }
}

/** Asks a port for plain HTTP, over a connection of its own. */
export async function askHttp(address: string, port: number, host: string): Promise<void> {
  const { status } = await visit({ address, port, host, headers: { connection: 'close' } });
  if (status !== 308) throw new Error(`HTTP ${status}`);
}

/** NOERROR, as the authority. */
function assertAnswered(packet: Buffer): void {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x840f) !== 0x8400) throw new Error(`DNS flags ${flags.toString(16)}`);
}
