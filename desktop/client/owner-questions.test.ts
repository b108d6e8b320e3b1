import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPosix } from '../../shared/testing/posix.ts';
import { answerQuestions, type AskOwner, askThroughApp } from './owner-questions.ts';

const NEVER = new AbortController().signal;

describe('a question to the owner', () => {
  let directory: string;
  let end: (() => void) | undefined;

  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'culvert-questions-'))));
  afterEach(() => {
    end?.();
    end = undefined;
    rmSync(directory, { recursive: true, force: true });
  });

  async function answering(ask: AskOwner): Promise<AskOwner> {
    end = await answerQuestions(directory, ask);
    return askThroughApp(directory);
  }

  it('is answered by the program that has the folder', async () => {
    const ask = await answering((question) => Promise.resolve(question === 'open port 1'));
    assert.equal(await ask('open port 1', NEVER), true);
    assert.equal(await ask('open port 2', NEVER), false);
  });

  it('has no answer without such a program, or if it cannot ask', async () => {
    assert.equal(await askThroughApp(directory)('x', NEVER), undefined);
    const ask = await answering(() => Promise.resolve(undefined));
    assert.equal(await ask('x', NEVER), undefined);
  });

  it('is withdrawn if its program leaves', async () => {
    const withdrawn = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const ask = await answering((_question, ended) => {
      ended.addEventListener('abort', () => withdrawn.resolve());
      asked.resolve();
      return withdrawn.promise.then(() => true);
    });
    const leaving = new AbortController();
    const answer = ask('x', leaving.signal);
    await asked.promise;
    leaving.abort();
    assert.equal(await answer, undefined);
    await withdrawn.promise;
  });

  it('is asked after the previous one', async () => {
    const seen: string[] = [];
    const first = Promise.withResolvers<boolean>();
    const ask = await answering((question) => {
      seen.push(question);
      return question === 'one' ? first.promise : Promise.resolve(false);
    });
    const answers = Promise.all([ask('one', NEVER), ask('two', NEVER)]);
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, ['one']);
    first.resolve(true);
    assert.deepEqual(await answers, [true, false]);
  });

  it('cannot move the cursor or be endless', async () => {
    const seen: string[] = [];
    const ask = await answering((question) => Promise.resolve(seen.push(question) < 0));
    assert.equal(await ask('a\u{1b}[2Jb', NEVER), false);
    assert.equal(await ask('x'.repeat(100_000), NEVER), undefined);
    assert.deepEqual(seen, [String.raw`a\x1b[2Jb`]);
  });

  it('is nothing else than a line of JSON', async () => {
    await answering(() => assert.fail('it was asked'));
    for (const line of ['null', '7', '{}', '{"question":7}', 'x']) {
      await new Promise<void>((resolve) => {
        const socket = connect(join(directory, 'questions.sock'), () => socket.write(`${line}\n`));
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
    }
  });

  onPosix('is for the same user only, even after a program that was killed', async () => {
    writeFileSync(join(directory, 'questions.sock'), '');
    const ask = await answering(() => Promise.resolve(true));
    assert.equal(statSync(join(directory, 'questions.sock')).mode & 0o777, 0o600);
    assert.equal(await ask('x', NEVER), true);
  });
});
