/**
 * Other programs of this user ask the owner of the tunnels: `culvert mcp --ask` does, because its standard input belongs
 * to an agent. The program that has the lock of the app's files answers, over a socket in their folder. Each connection
 * carries one question as a line of JSON, and its answer.
 */
import { createHash } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { readLines } from './inspector/inspector-protocol.ts';
import { QUESTION_MAX_BYTES, QUESTION_TIMEOUT_MS, QUESTIONS_MAX } from './limits.ts';

/**
 * Asks a person.
 *
 * @param question what a program wants, in a few words
 * @param ended aborted once the answer no longer counts
 * @returns whether the person agrees; `undefined` if nobody can be asked
 */
export type AskOwner = (question: string, ended: AbortSignal) => Promise<boolean | undefined>;

/**
 * Answers questions, one after another. The caller has the lock of the folder.
 *
 * @returns a function that ends it
 * @throws Error if it cannot listen
 */
export async function answerQuestions(directory: string, ask: AskOwner): Promise<() => void> {
  const path = socketPath(directory, 'questions');
  const isFile = process.platform !== 'win32';
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    const left = new AbortController();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => left.abort());
    socket.setTimeout(QUESTION_TIMEOUT_MS, () => socket.destroy());
    let isAsked = false;
    readLines(socket, QUESTION_MAX_BYTES, (line) => {
      const question = readText(line, 'question');
      if (isAsked || question === undefined) return void socket.destroy();
      isAsked = true;
      socket.setTimeout(0);
      const turn = last.then(() =>
        left.signal.aborted ? undefined : ask(escapeUnprintable(question), left.signal),
      );
      last = turn.then(
        (agrees) => void socket.end(`${JSON.stringify({ agrees })}\n`),
        () => void socket.destroy(),
      );
    });
  });
  server.maxConnections = QUESTIONS_MAX;
  server.unref();
  // Left by a program that was killed: the lock is ours.
  if (isFile) rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  server.on('error', () => undefined);
  if (isFile) chmodSync(path, 0o600);
  return () => {
    server.close();
    if (isFile) rmSync(path, { force: true });
  };
}

/** Asks through the program that answers for this folder; `undefined` if none does, or it ends. */
export function askThroughApp(directory: string): AskOwner {
  return (question, ended) =>
    new Promise((resolve) => {
      const socket = connect({ path: socketPath(directory, 'questions'), signal: ended });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => resolve(undefined));
      readLines(socket, QUESTION_MAX_BYTES, (line) => {
        const agrees = readValue(line, 'agrees');
        resolve(typeof agrees === 'boolean' ? agrees : undefined);
        socket.destroy();
      });
      socket.write(`${JSON.stringify({ question })}\n`);
    });
}

function readText(line: string, name: string): string | undefined {
  const value = readValue(line, name);
  return typeof value === 'string' ? value : undefined;
}

function readValue(line: string, name: string): unknown {
  try {
    return (JSON.parse(line) as Readonly<Record<string, unknown>> | null)?.[name];
  } catch {
    return undefined;
  }
}

/** Where the owner of a folder listens. Pipes of Windows are not in folders. */
export function socketPath(directory: string, purpose: 'instance' | 'questions'): string {
  if (process.platform !== 'win32') return join(directory, `${purpose}.sock`);
  const name = createHash('sha256').update(directory.toLowerCase()).digest('hex').slice(0, 16);
  const suffix = purpose === 'instance' ? '' : `-${purpose}`;
  return `\\\\.\\pipe\\culvert-${userInfo().username}-app-${name}${suffix}`;
}
