/**
 * A small program that sends listeners to another process, and ends. Node sends handles only over the channel that a
 * process was started with (`NODE_CHANNEL_FD`): here that is the connection to the other process. It accepts no
 * connections: those in a listener's queue stay there.
 *
 * Arguments: the names of the listeners, whose file descriptors begin at 4.
 */
import { createSocket } from 'node:dgram';
import { Socket } from 'node:net';

const FIRST_DESCRIPTOR = 4;

/** Sent instead of a socket, which Node would begin to read. */
interface Handled {
  readonly _handle: Socket;
}

/** A UDP socket, before it is bound. */
interface UdpHandled {
  readonly _handle: Socket & { open(descriptor: number): number };
}

// Node deprecates `_handle` of UDP sockets.
process.noDeprecation = true;

/** Only used for its handle: nothing is read from it, and a listener would begin to accept. */
function handleOf(name: string, descriptor: number): Socket {
  if (!name.startsWith('udp ')) {
    const socket = new Socket({ fd: descriptor, readable: false, writable: false });
    const { _handle: handle } = socket as unknown as Handled;
    return handle;
  }
  const { _handle: handle } = createSocket('udp4') as unknown as UdpHandled;
  handle.open(descriptor);
  return handle;
}

/** Resolves when the other process has received it. */
function send(name: string, descriptor: number): Promise<void> {
  const handle = handleOf(name, descriptor);
  return new Promise((resolve, reject) => {
    process.send?.({ name }, handle, {}, (error) => (error === null ? resolve() : reject(error)));
  });
}

const names = process.argv.slice(2);
process.once('disconnect', () => process.exit(1));
Promise.all(names.map((name, index) => send(name, FIRST_DESCRIPTOR + index))).then(
  () => process.exit(0),
  () => process.exit(1),
);
