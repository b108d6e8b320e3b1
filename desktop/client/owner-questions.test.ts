import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onPosix } from '../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { type Message, toMessage, textOf } from './messages.ts';
import { answerQuestions, type AskOwner, askThroughApp } from './owner-questions.ts';

const NEVER = new AbortController().signal;

function admit(address: string): Message {
  return toMessage('question.admit', { address, slug: 'shop', port: 3000 });
}

/** A message that contains itself, so often that it would exhaust the stack. */
const NESTED = `${'{"code":"policy.from","values":{"networks":'.repeat(90)}"x"${'}}'.repeat(90)}`;
const WRONG = [
  'null',
  '7',
  '{}',
  'x',
  ...[
    '7',
    '"open a tunnel"',
    '[]',
    '{}',
    '{"code":"question.anyone"}',
    '{"code":"question.link","values":{"slug":"x"}}',
    '{"code":"question.link","values":{"slug":"x","port":null}}',
    '{"code":"question.link","values":{"slug":"x","port":["y"]}}',
    '{"code":"question.link","values":{"slug":"x","port":{"text":"y"}}}',
    '{"code":"tunnel.closed","values":{}}',
    '{"code":"constructor","values":{}}',
    '{"code":["question.anyone"],"values":{}}',
    NESTED,
  ].map((question) => `{"question":${question}}`),
];

describe('a question to the owner', () => {
  let directory: string;
  let end: (() => void) | undefined;

  beforeEach(() => void (directory = temporaryDirectory()));
  afterEach(() => {
    end?.();
    end = undefined;
  });

  async function answering(ask: AskOwner): Promise<AskOwner> {
    end = await answerQuestions(directory, ask);
    return askThroughApp(directory);
  }

  it('is answered by the program that has the folder', async () => {
    const ask = await answering((question) => Promise.resolve(question.values['address'] === '192.0.2.1'));
    assert.equal(await ask(admit('192.0.2.1'), NEVER), true);
    assert.equal(await ask(admit('192.0.2.2'), NEVER), false);
  });

  it('has no answer without such a program, or if it cannot ask', async () => {
    assert.equal(await askThroughApp(directory)(admit('x'), NEVER), undefined);
    const ask = await answering(() => Promise.resolve(undefined));
    assert.equal(await ask(admit('x'), NEVER), undefined);
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
    const answer = ask(admit('x'), leaving.signal);
    await asked.promise;
    leaving.abort();
    assert.equal(await answer, undefined);
    await withdrawn.promise;
  });

  it('is asked after the previous one', async () => {
    const seen: string[] = [];
    const first = Promise.withResolvers<boolean>();
    const ask = await answering((question) => {
      seen.push(textOf(question));
      return seen.length === 1 ? first.promise : Promise.resolve(false);
    });
    const answers = Promise.all([ask(admit('one'), NEVER), ask(admit('two'), NEVER)]);
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, [textOf(admit('one'))]);
    first.resolve(true);
    assert.deepEqual(await answers, [true, false]);
  });

  it('cannot move the cursor or be endless', async () => {
    const seen: string[] = [];
    const ask = await answering((question) => Promise.resolve(seen.push(textOf(question)) < 0));
    assert.equal(await ask(admit('a\u{1b}[2Jb'), NEVER), false);
    assert.equal(await ask(admit('x'.repeat(100_000)), NEVER), undefined);
    assert.deepEqual(seen, [String.raw`admit the visitor at a\x1b[2Jb to the tunnel shop to port 3000`]);
  });

  it('reaches the program with the messages in it, in whose words the program asks', async () => {
    const seen: Message[] = [];
    const ask = await answering((question) => Promise.resolve(seen.push(question) > 0));
    const first = toMessage('policy.password');
    const second = toMessage('policy.token', {
      names: toMessage('policy.more', { first: 'a, b, c', count: 2 }),
    });
    const ways = toMessage('policy.waysFrom', {
      ways: toMessage('policy.or', { first, second }),
      networks: '10.0.0.0/8',
    });
    const question = toMessage('question.open', {
      port: 3000,
      access: toMessage('question.visitors', { ways }),
    });
    assert.equal(await ask(question, NEVER), true);
    assert.deepEqual(seen, [question]);
  });

  it('is one of the known messages as a line of JSON, and nothing else', async () => {
    await answering(() => assert.fail('it was asked'));
    for (const line of WRONG) {
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
    assert.equal(await ask(admit('x'), NEVER), true);
  });
});
