/**
 * A small program that receives listeners from another relay and passes them on to its parent process. That requires
 * two channels, and a process has one: so each is sent by `send-listeners`, over the channel to the relay, which this
 * program gets as file descriptor 3.
 *
 * Argument: the file of `send-listeners`.
 */
import { spawn } from 'node:child_process';

const [, , sender = ''] = process.argv;

process.on('message', ({ name }: { name: string }, listener: unknown) => {
  const { fd } = listener as { readonly fd: number };
  spawn(process.execPath, [sender, name], {
    stdio: ['ignore', 'ignore', 'inherit', 3, fd],
    env: { ...process.env, NODE_CHANNEL_FD: '3' },
  });
});
