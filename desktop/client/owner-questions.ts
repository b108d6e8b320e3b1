/**
 * Other programs of this user ask the owner of the tunnels: `culvert mcp --ask` does, because its standard input belongs
 * to an agent. The program that has the lock of the app's files answers, over a socket in their folder. Each connection
 * carries one question as a line of JSON, and its answer. A question is a message of the catalogue, so that the program
 * that asks words it in its user's language.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { readLines } from './line-reader.ts';
import { type Message, QUESTION_MESSAGES, toMessage } from './messages.ts';
import { Turns } from './turns.ts';

/** Maximum size of a question that `culvert mcp` asks the owner through the app, and of its answer. */
const QUESTION_MAX_BYTES = 4096;
/** Messages around a message in a question: the longest policy has six. */
const QUESTION_DEPTH_MAX = 8;
/** Maximum number of such questions that wait for the owner. */
const QUESTIONS_MAX = 8;
/** How long a program that connects to ask the owner has to send its question. */
const QUESTION_TIMEOUT_MS = 2000;

/**
 * Asks a person.
 *
 * @param question one of {@link QUESTION_MESSAGES}
 * @param ended aborted once the answer no longer counts
 * @returns whether the person agrees; `undefined` if nobody can be asked
 */
export type AskOwner = (question: Message, ended: AbortSignal) => Promise<boolean | undefined>;

/**
 * Answers questions, one after another. The caller has the lock of the folder.
 *
 * @returns a function that ends it
 * @throws Error if it cannot listen
 */
export async function answerQuestions(directory: string, ask: AskOwner): Promise<() => void> {
  const path = socketPath(directory, 'questions');
  const isFile = process.platform !== 'win32';
  const turns = new Turns();
  const server = createServer((socket) => {
    const left = new AbortController();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => left.abort());
    socket.setTimeout(QUESTION_TIMEOUT_MS, () => socket.destroy());
    let isAsked = false;
    readLines(socket, QUESTION_MAX_BYTES, (line) => {
      const question = readQuestion(readValue(line, 'question'));
      if (isAsked || question === undefined) return void socket.destroy();
      isAsked = true;
      socket.setTimeout(0);
      const turn = turns.take(() => (left.signal.aborted ? undefined : ask(question, left.signal)));
      turn.then(
        (agrees) => void socket.end(`${JSON.stringify({ agrees })}\n`),
        () => void socket.destroy(),
      );
    });
  });
  server.maxConnections = QUESTIONS_MAX;
  server.unref();
  // Left by a program that was killed: the lock is ours.
  if (isFile) rmSync(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
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

/**
 * Reads a question that another program has written.
 *
 * @param depth of the messages around it
 * @returns the message with printable values only; `undefined` for anything else than one of {@link QUESTION_MESSAGES}
 */
function readQuestion(given: unknown, depth = 0): Message | undefined {
  if (typeof given !== 'object' || given === null || depth > QUESTION_DEPTH_MAX) return undefined;
  const { code, values } = given as Readonly<Record<string, unknown>>;
  if (!isQuestion(code) || typeof values !== 'object' || values === null) return undefined;
  const read: Record<string, string | number | Message> = {};
  for (const [, name = ''] of QUESTION_MESSAGES[code].matchAll(/\{(\w+)\}/g)) {
    const value = Object.hasOwn(values, name)
      ? (values as Readonly<Record<string, unknown>>)[name]
      : undefined;
    const part =
      typeof value === 'number'
        ? value
        : typeof value === 'string'
          ? escapeUnprintable(value)
          : readQuestion(value, depth + 1);
    if (part === undefined) return undefined;
    read[name] = part;
  }
  return toMessage(code, read);
}

function isQuestion(code: unknown): code is keyof typeof QUESTION_MESSAGES {
  return typeof code === 'string' && Object.hasOwn(QUESTION_MESSAGES, code);
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
