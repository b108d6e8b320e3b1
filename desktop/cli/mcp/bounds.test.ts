import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { OPEN } from '../../../shared/access.ts';
import { type Message, toMessage, textOf } from '../../client/messages.ts';
import type { AskOwner } from '../../client/owner-questions.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { askAt } from './ask-on-terminal.ts';
import {
  boundedExtension,
  boundedTtl,
  type Bounds,
  checkAccess,
  checkPort,
  checkProtocol,
  Consent,
  MCP_ASK_TIMEOUT_MS,
  MCP_QUESTIONS_MAX,
} from './bounds.ts';
import { ToolFailure } from './tool-json.ts';

const FREE: Bounds = {
  ports: undefined,
  maxTtl: undefined,
  requireAccess: false,
  allowTcp: false,
  ask: false,
};
const HOUR: Bounds = { ...FREE, maxTtl: 3600 };
const AT = Date.parse('2026-07-10T12:00:00Z');

/** A tunnel that ends so many minutes after {@link AT}. */
function endsIn(minutes: number) {
  return { expires_at: new Date(AT + minutes * 60_000).toISOString() };
}

describe('bounds', () => {
  it('allow only tunnels for HTTP, unless the owner allows others', () => {
    checkProtocol(FREE, 'http');
    for (const protocol of ['tls', 'tcp'] as const) {
      assert.throws(() => checkProtocol(FREE, protocol), /only tunnels for HTTP/);
      checkProtocol({ ...FREE, allowTcp: true }, protocol);
    }
  });

  it('allow ports including both ends', () => {
    const ports = [
      { from: 3000, to: 3999 },
      { from: 8080, to: 8080 },
    ];
    for (const port of [3000, 3999, 8080]) checkPort({ ...FREE, ports }, port);
    for (const port of [2999, 4000, 8081, 22])
      assert.throws(
        () => checkPort({ ...FREE, ports }, port),
        (error) =>
          error instanceof ToolFailure &&
          error.message.includes(
            `Port ${port} is not allowed. The owner allows ports 3000 to 3999, port 8080`,
          ),
      );
    checkPort(FREE, 22);
  });

  it('limit the lifetime of a new tunnel, and give one that has none the longest', () => {
    assert.equal(boundedTtl(FREE, undefined), undefined);
    assert.equal(boundedTtl(HOUR, undefined), '1h');
    assert.equal(boundedTtl(HOUR, '60m'), '60m');
    for (const ttl of ['60m1s', '1.1h', '3601000ms', '9'.repeat(400) + 'h'])
      assert.throws(() => boundedTtl(HOUR, ttl), /at most 1h\b/, ttl);
  });

  it('limit an extension so that the tunnel ends within the longest lifetime from now', () => {
    assert.equal(boundedExtension(HOUR, endsIn(20), '40m', AT), '2400s');
    assert.equal(boundedExtension(HOUR, endsIn(20), undefined, AT), '2400s');
    assert.throws(() => boundedExtension(HOUR, endsIn(20), '41m', AT), /at most 40m can be added/);
    assert.throws(() => boundedExtension(HOUR, endsIn(60), '1s', AT), /cannot be extended yet/);
    assert.throws(() => boundedExtension(HOUR, endsIn(90), undefined, AT), /cannot be extended yet/);
    assert.equal(boundedExtension(FREE, endsIn(90), '9h', AT), '9h');
  });

  it('do not take a list of networks for an access policy', () => {
    const guarded = { ...FREE, requireAccess: true };
    for (const access of [
      OPEN,
      { ...OPEN, allow: ['0.0.0.0/0', '::/0'] },
      { ...OPEN, allow: ['10.0.0.0/8'] },
    ])
      assert.throws(() => checkAccess(guarded, access), /open to anyone/);
    for (const access of [
      { ...OPEN, links: true },
      { ...OPEN, knock: true },
      { ...OPEN, sign_in: ['*@example.com'] },
      { ...OPEN, password: 'three' },
    ])
      checkAccess(guarded, access);
    checkAccess(FREE, OPEN);
  });
});

const NEVER = new AbortController().signal;

function admit(address: string): Message {
  return toMessage('question.admit', { address, slug: 'shop', port: 3000 });
}

function asking(...askers: AskOwner[]) {
  const clock = new FakeClock();
  return { clock, consent: new Consent({ clock, askers }) };
}

/** Never answers. */
const silent: AskOwner = (_question, ended) =>
  new Promise((resolve) => ended.addEventListener('abort', () => resolve(undefined)));

const nobody: AskOwner = () => Promise.resolve(undefined);

describe('the consent of the owner', () => {
  it('is asked for where somebody can be asked', async () => {
    await asking(nobody, () => Promise.resolve(true)).consent.ask(admit('open'), NEVER);
    await assert.rejects(
      asking(nobody, () => Promise.resolve(false)).consent.ask(admit('open'), NEVER),
      /owner refused this/,
    );
    await assert.rejects(asking(nobody).consent.ask(admit('open'), NEVER), /nobody can be asked/);
  });

  it('is refused after 5 minutes, and the next question is asked', async () => {
    const { clock, consent } = asking((question, ended) =>
      question.values['address'] === 'first' ? silent(question, ended) : Promise.resolve(true),
    );
    const first = assert.rejects(consent.ask(admit('first'), NEVER), /did not answer within 5 minutes/);
    await turn();
    clock.advance(MCP_ASK_TIMEOUT_MS - 1);
    await turn();
    clock.advance(1);
    await first;
    await consent.ask(admit('second'), NEVER);
  });

  it('does not count once it comes too late', async () => {
    const late = Promise.withResolvers<boolean>();
    const { clock, consent } = asking(() => late.promise);
    const refused = assert.rejects(consent.ask(admit('open'), NEVER), /did not answer/);
    await turn();
    clock.advance(MCP_ASK_TIMEOUT_MS);
    late.resolve(true);
    await refused;
  });

  it('is for one question: the others are asked by themselves, one after another', async () => {
    const asked: string[] = [];
    const { consent } = asking((question) => Promise.resolve(asked.push(textOf(question)) === 1));
    const results = await Promise.allSettled([
      consent.ask(admit('one'), NEVER),
      consent.ask(admit('one'), NEVER),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.deepEqual(asked, [textOf(admit('one')), textOf(admit('one'))]);
  });

  it('is not asked for by more than 8 questions at a time, nor by calls that were cancelled', async () => {
    const asked: string[] = [];
    const { consent } = asking((question, ended) => {
      asked.push(textOf(question));
      return silent(question, ended);
    });
    const cancel = new AbortController();
    const waiting = Array.from({ length: MCP_QUESTIONS_MAX }, (_, index) =>
      assert.rejects(consent.ask(admit(String(index)), cancel.signal), /cancelled/),
    );
    await assert.rejects(consent.ask(admit('more'), NEVER), /8 questions are waiting/);
    cancel.abort();
    await Promise.all(waiting);
    await turn();
    assert.deepEqual(asked, [textOf(admit('0'))]);
  });
});

/** @param type from what the terminal shows to what its user types */
async function answer(type: (shown: string) => string): Promise<{ agrees: boolean; shown: string }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const agrees = askAt(input, output, admit('a\u{1b}[2Jb'), NEVER);
  const shown = String(output.read());
  input.write(type(shown));
  return { agrees: await agrees, shown };
}

const codeIn = (shown: string): string => /Type (\d{4}) /.exec(shown)?.[1] ?? assert.fail(shown);

describe('askAt', () => {
  it('agrees only if the number is typed that it shows', async () => {
    const { agrees, shown } = await answer((text) => `${codeIn(text)}\n`);
    assert.equal(agrees, true);
    assert.match(
      shown,
      /an agent wants to admit the visitor at a\\x1b\[2Jb to the tunnel shop to port 3000\./,
    );
    for (const typed of ['y\n', 'yes\n', '\n'])
      assert.equal((await answer(() => typed)).agrees, false, typed);
    assert.equal((await answer((text) => `${Number(codeIn(text)) - 1}\n`)).agrees, false);
  });

  it('refuses at the end of the input, and once it is no longer wanted', async () => {
    const input = new PassThrough();
    const ended = askAt(input, new PassThrough(), admit('x'), NEVER);
    input.end();
    assert.equal(await ended, false);
    assert.equal(await askAt(new PassThrough(), new PassThrough(), admit('x'), AbortSignal.abort()), false);
  });
});
