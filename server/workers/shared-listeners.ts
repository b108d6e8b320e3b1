/**
 * Listeners that the workers of a relay share. The first process holds them and accepts nothing, so that what waits in
 * their queues outlives each worker.
 */
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import * as net from 'node:net';
import { getSystemErrorName } from 'node:util';
import { type ListenerName, Listeners, placed, udpHandle } from '../listeners.ts';

/** A handle of Node's, as far as it is used here. */
interface NativeHandle {
  readonly fd: number;
  close(): void;
  getsockname(into: { port?: number }): number;
}

/** Undocumented, but what Node's own `cluster` uses. */
interface NetInternals {
  /** @returns a bound socket that does not listen yet, or the number of the system's error */
  readonly _createServerHandle: (
    address: string | null,
    port: number | null,
    family: number | null,
    fd?: number,
  ) => NativeHandle | number;
}

const { _createServerHandle: createServerHandle } = net as unknown as NetInternals;

interface SharedListener {
  readonly handle: NativeHandle;
  /** the key it was inherited with */
  readonly passedAs: string | undefined;
}

export class SharedListeners {
  /** those that this process serves itself */
  readonly own: Listeners;
  /** by what was asked for */
  readonly #open = new Map<string, Promise<SharedListener>>();
  readonly #handles = new Map<string, NativeHandle>();

  /** @param inherited see {@link Listeners} */
  constructor(inherited: ReadonlyMap<string, object>) {
    this.own = new Listeners(inherited);
  }

  /**
   * The same one for the same purpose and address, which each worker listens on.
   *
   * @throws the system's error if the address is in use or not local
   */
  async lend(name: ListenerName, host: string, port: number): Promise<SharedListener> {
    const place = placed(name, host, port);
    const known = this.#open.get(place) ?? this.#start(name, host, port);
    this.#open.set(place, known);
    try {
      return await known;
    } catch (error) {
      this.#open.delete(place);
      throw error;
    }
  }

  /** File descriptors, by the key they are handed over with. */
  get descriptors(): Map<string, number> {
    return new Map([
      ...this.own.descriptors,
      ...[...this.#handles].map(([key, { fd }]) => [key, fd] as const),
    ]);
  }

  /** Closes what was inherited and is not used. */
  closeOthers(): void {
    this.own.closeOthers();
  }

  /** Closes what workers no longer listen on. */
  close(): void {
    this.closeOthers();
    for (const handle of this.#handles.values()) handle.close();
    this.#handles.clear();
    this.#open.clear();
  }

  async #start(name: ListenerName, host: string, port: number): Promise<SharedListener> {
    const { passedAs, handle: inherited } = this.own.take(name, host, port);
    const handle =
      inherited === undefined
        ? await (name === 'udp' ? boundUdp(host, port) : bound(host, port))
        : 'fd' in inherited && typeof inherited.fd === 'number' && !('getsockname' in inherited)
          ? opened(inherited.fd)
          : (inherited as NativeHandle);
    this.#handles.set(passedAs ?? placed(name, host, portOf(handle)), handle);
    return { handle, passedAs };
  }
}

function portOf(handle: NativeHandle): number {
  const found: { port?: number } = {};
  handle.getsockname(found);
  return found.port ?? 0;
}

/** @throws the system's error */
function opened(fd: number): NativeHandle {
  const handle = createServerHandle(null, null, null, fd);
  if (typeof handle === 'number') throw systemError(handle, undefined);
  return handle;
}

async function bound(host: string, port: number): Promise<NativeHandle> {
  const { address, family } = await lookup(host);
  const handle = createServerHandle(address, port, family);
  if (typeof handle === 'number') throw systemError(handle, port);
  // The system may report that it is in use only at the first `listen`, and then choose another port.
  if (port === 0 || portOf(handle) === port) return handle;
  handle.close();
  throw Object.assign(new Error(`listen EADDRINUSE: address already in use ${address}:${port}`), {
    code: 'EADDRINUSE',
    port,
  });
}

async function boundUdp(host: string, port: number): Promise<NativeHandle> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  const listening = once(socket, 'listening');
  socket.bind({ address, port });
  await listening;
  const handle = udpHandle(socket) as unknown as NativeHandle & { recvStop(): void };
  // What arrives from now on waits for the workers.
  handle.recvStop();
  return handle;
}

function systemError(number: number, port: number | undefined): Error {
  const code = getSystemErrorName(number);
  return Object.assign(new Error(`bind ${code}`), { code, port });
}
