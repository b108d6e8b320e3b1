/** Asks the owner on the terminal that the client of `culvert mcp` was started from: its standard input is the client's. */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ReadStream, WriteStream } from 'node:tty';
import { promisify } from 'node:util';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { type Message, textOf } from '../../client/messages.ts';

/** ms for `ps` to answer. */
const PS_TIMEOUT_MS = 2000;
/** The terminal is gone: then nobody answers. */
const ignore = (): void => {};

/**
 * Other programs may read the same terminal. Therefore agreeing takes a random number, which nobody types by chance, and
 * which the agent does not see.
 *
 * @param ended the answer no longer counts
 */
export async function askAt(
  input: Readable,
  output: Writable,
  question: Message,
  ended: AbortSignal,
): Promise<boolean> {
  const code = String(randomInt(1000, 10_000));
  const lines = createInterface({ input, terminal: false });
  output.write(
    `\nculvert: an agent wants to ${escapeUnprintable(textOf(question))}.\nType ${code} to allow it once, or anything else to refuse: `,
  );
  try {
    return await new Promise((resolve) => {
      lines.once('line', (line) => resolve(line.trim() === code));
      lines.once('close', () => resolve(false));
      ended.addEventListener('abort', () => resolve(false), { once: true });
      if (ended.aborted) resolve(false);
    });
  } finally {
    if (ended.aborted) output.write('\nculvert: an answer is no longer needed.\n');
    lines.close();
  }
}

/** Asks on the terminal of this process, if it is in front there. */
export async function askOnTerminal(question: Message, ended: AbortSignal): Promise<boolean | undefined> {
  if (!(await isInForeground()) || ended.aborted) return undefined;
  let input: ReadStream;
  let output: WriteStream;
  try {
    input = new ReadStream(openSync('/dev/tty', 'r'));
    output = new WriteStream(openSync('/dev/tty', 'w'));
  } catch {
    return undefined;
  }
  input.on('error', ignore);
  output.on('error', ignore);
  try {
    return await askAt(input, output, question, ended);
  } finally {
    input.destroy();
    output.destroy();
  }
}

/** A process in the background would be stopped by the system when it reads the terminal. */
async function isInForeground(): Promise<boolean> {
  if (process.platform === 'win32') return false;
  try {
    const args = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)];
    const { stdout } = await promisify(execFile)('ps', args, { timeout: PS_TIMEOUT_MS });
    const [group, foreground] = stdout.trim().split(/\s+/);
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}
