/** Visitors of tunnels whose client has trunks, and assertions about them. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { AccountPool } from './accounts.ts';
import { documentedCode } from './api.ts';
import { connectionEnds } from './cluster.ts';
import { within } from './deadline.ts';
import { ManualClient } from './manual-client.ts';
import type { Environment, Relay } from './programs.ts';
import { formatRequest, RawConnection, type Request } from './raw-http.ts';
import type { Scope } from './scope.ts';
import type { TrunkClient, TrunkClientStream } from './spec-client/trunk.ts';
import { HandshakeRefused } from './spec-client/websocket.ts';

/** Settings of a relay that accepts trunks, as it does by default, regardless of this run (testing.md). */
export const WITH_TRUNKS: Environment =
  process.env['CULVERT_TRUNKS'] === undefined ? {} : { CULVERT_TRUNKS: '2' };

/** bytes that Node reads in one call */
export const READ_BYTES = 65_536;
/**
 * Between processes of a relay: the client's data socket may be at one, its trunk at another, the visitor at a third. Each
 * hop has its window, and a read that does not fit into it.
 */
export const HOPS_BYTES = process.env['CULVERT_WORKERS'] === undefined ? 0 : 2 * (262_144 + READ_BYTES);

/** 'half' of 'halfdone' */
export const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf';
/** The error for {@link HALF} if the other half never arrives. */
export const BROKEN = /^Error: the stream ended .* early$/;

/** Fields of a request for a WebSocket. */
export const UPGRADE = [
  ['Upgrade', 'websocket'],
  ['Connection', 'Upgrade'],
] as const;

/** A response with this body. */
export function ok(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** SHA-256 in hex. */
export function checksum(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Status and text of a refusal. Its code must be the documented one. */
export async function refusalOf(opening: Promise<unknown>): Promise<[status: number, text: string]> {
  try {
    await opening;
  } catch (error) {
    if (!(error instanceof HandshakeRefused)) throw error;
    const { status, text } = error.response;
    const body = JSON.parse(text) as { error: string };
    assert.deepEqual(body, { error: body.error, code: documentedCode(body.error) });
    return [status, body.error];
  }
  return assert.fail('the trunk was opened');
}

/** Waits for the end of a trunk: its close code, 1006 if it broke. */
export async function closeCode(trunk: TrunkClient, ms = 20_000): Promise<number> {
  return (await within(ms, 'end of the trunk', trunk.closed)).code;
}

/** Waits until the relay has ended a stream. */
export async function endOf(stream: TrunkClientStream): Promise<number> {
  return await within(20_000, 'end of the stream', stream.ended);
}

/**
 * Bytes that a stream of a distant client carries one way before the next byte makes it large (protocol.md section
 * 10.3).
 */
export const LARGE = 524_288;

/**
 * Sends enough through a stream of a distant client for the relay to let it move.
 *
 * @returns the bytes that were sent
 */
export async function sendUntilMove(stream: TrunkClientStream): Promise<Buffer> {
  const bytes = randomBytes(LARGE + 1);
  stream.send(bytes);
  await stream.mayMove();
  return bytes;
}

/** A visitor who has received half of a response. */
export type Halfway = Awaited<ReturnType<TrunkWorld['halfway']>>;

/** Visitors, clients and trunks of one relay. */
export class TrunkWorld {
  readonly #scope: Scope;
  readonly #relay: Relay;
  readonly #pool: AccountPool;

  constructor(scope: Scope, relay: Relay, pool: AccountPool) {
    this.#scope = scope;
    this.#relay = relay;
    this.#pool = pool;
  }

  /** A client with a control socket and a trunk. */
  async client(request: object = {}): Promise<{ client: ManualClient; trunk: TrunkClient }> {
    const client = await ManualClient.start(this.#scope, this.#relay, this.#pool, request);
    return { client, trunk: await client.trunk() };
  }

  /** Like {@link client}, but distant, so that its streams soon count as large. */
  async farClient(): Promise<{ client: ManualClient; trunk: TrunkClient }> {
    const client = await ManualClient.start(this.#scope, this.#relay, this.#pool);
    return { client, trunk: await client.trunk({ isFar: true }) };
  }

  /** A visitor who has sent a request. */
  async visitor(client: ManualClient, request: Partial<Request> = {}): Promise<RawConnection> {
    const visitor = await RawConnection.open(this.#scope, this.#relay.port, 60_000);
    await visitor.write(formatRequest({ host: client.host, ...request }));
    return visitor;
  }

  /** A visitor whose request has arrived through the trunk. */
  async connect(
    client: ManualClient,
    trunk: TrunkClient,
    request: Partial<Request> = {},
  ): Promise<[RawConnection, TrunkClientStream]> {
    const visitor = await this.visitor(client, request);
    const stream = await trunk.accept();
    await stream.receivedUpTo('\r\n\r\n');
    return [visitor, stream];
  }

  async halfway(client: ManualClient, trunk: TrunkClient) {
    const [visitor, stream] = await this.connect(client, trunk);
    stream.send(HALF);
    const head = await visitor.finalHead();
    const rest = visitor.rest(head).then(
      ({ text }) => text,
      (error: unknown) => String(error),
    );
    return {
      visitor,
      stream,
      /** the whole body, or what went wrong */
      rest,
    };
  }

  /** Asserts that a visitor gets a response through the trunk. */
  async assertServes(client: ManualClient, trunk: TrunkClient): Promise<void> {
    const [visitor, stream] = await this.connect(client, trunk);
    stream.send(ok('served'));
    assert.equal((await visitor.response()).text, 'served');
    visitor.reset();
    await endOf(stream);
  }
}

/**
 * Asserts that at most this much of a client's data is held by the relay itself, not counting the system and the
 * visitor.
 */
export function assertHeldAtMost(most: number, sent: number, { socket, reader }: RawConnection): void {
  const held = sent - onTheWay(socket).toHere - socket.readableLength - reader.buffered;
  assert.ok(held <= most, `${held} of ${sent} bytes are in the relay`);
}

/** The local end of a connection. */
interface ThisEnd {
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
}

/** Bytes of a connection of this process that are buffered by the system, at either end. */
export function onTheWay({ localPort, remotePort }: ThisEnd): {
  readonly toHere: number;
  readonly fromHere: number;
} {
  const ends = connectionEnds();
  const mine = ends.find((end) => end.port === localPort && end.peerPort === remotePort) ?? assert.fail();
  const other = ends.find((end) => end.port === remotePort && end.peerPort === localPort) ?? assert.fail();
  return { toHere: other.unsent + mine.unread, fromHere: mine.unsent + other.unread };
}
