/**
 * A small program that receives listeners from another relay and passes them on to its parent process. That requires
 * two channels, and a process has one: so each is sent by `send-listeners`, over the channel to the relay, which this
 * program gets as file descriptor 3.
 *
 * Arguments: the words that start `send-listeners`.
 */
import { spawn } from 'node:child_process';

const [, , program = '', ...args] = process.argv;

process.on('message', ({ name }: { name: string }, listener: unknown) => {
  const { fd } = listener as { readonly fd: number };
  spawn(program, [...args, name], {
    stdio: ['ignore', 'ignore', 'inherit', 3, fd],
    env: { ...process.env, NODE_CHANNEL_FD: '3' },
  });
});
