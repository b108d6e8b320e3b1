import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  StdioServer,
  type StdioServerOptions,
  MCP_OUTPUT_MAX_BYTES,
  MCP_PROGRESS_MS,
} from './stdio-server.ts';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
}

function serving(
  call: StdioServerOptions['call'] = () => Promise.resolve({ content: [] }),
  refusal?: string,
) {
  const input = new PassThrough();
  const clock = new FakeClock();
  const messages: Message[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      messages.push(JSON.parse(String(chunk)) as Message);
      done();
    },
  });
  const tools = [{ name: 'act', title: 'Act', description: '', inputSchema: {}, annotations: {} }];
  const interrupt = new AbortController();
  const server = new StdioServer({ input, output, instructions: 'Be kind.', tools, refusal, call, clock });
  const ended = server.serve(interrupt.signal);
  const act = (id: number, params: object = {}): void =>
    void input.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'act', ...params } })}\n`,
    );
  return { input, clock, messages, interrupt, ended, act };
}

describe('StdioServer', () => {
  it('says why it is of no use, and ends with the handshake', async () => {
    const { input, messages, ended } = serving(undefined, 'Log in first.');
    for (const [id, method] of ['server/discover', 'initialize'].entries())
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method })}\n`);
    await ended;
    assert.deepEqual(
      messages,
      [0, 1].map((id) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'Log in first.' } })),
    );
  });

  it('reads messages however they are divided', async () => {
    const { input, messages } = serving();
    const text = '{"jsonrpc":"2.0","id":"ü","method":"ping"}\r\n';
    for (const byte of Buffer.from(text.repeat(2))) input.write(Buffer.from([byte]));
    await turn();
    assert.deepEqual(
      messages.map(({ id }) => id),
      ['ü', 'ü'],
    );
  });

  it('answers with the revision that the client wants, or else the newest one', async () => {
    const { input, messages } = serving();
    for (const protocolVersion of ['2024-11-05', '1999-01-01', 7])
      input.write(
        `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion } })}\n`,
      );
    await turn();
    const revisions = messages.map((message) => (message as { result: { protocolVersion: string } }).result);
    assert.deepEqual(
      revisions.map(({ protocolVersion }) => protocolVersion),
      ['2024-11-05', '2025-11-25', '2025-11-25'],
    );
  });

  it('reports progress to a client that asks for it, until the call has ended', async () => {
    const call = Promise.withResolvers<{ content: [] }>();
    const { clock, messages, act } = serving(() => call.promise);
    act(1, { _meta: { progressToken: 'p' } });
    await turn();
    clock.advance(2 * MCP_PROGRESS_MS);
    call.resolve({ content: [] });
    await turn();
    clock.advance(2 * MCP_PROGRESS_MS);
    assert.deepEqual(
      messages.map(({ id, params }) => id ?? params),
      [{ progressToken: 'p', progress: 1 }, { progressToken: 'p', progress: 2 }, 1],
    );
  });

  it('refuses a second call with the id of one that is running', async () => {
    const { messages, act } = serving(() => new Promise(() => {}));
    act(1);
    act(1);
    await turn();
    assert.equal(messages.length, 1);
    assert.match(JSON.stringify(messages[0]), /still running/);
  });

  for (const [how, end] of [
    ['its input ends', ({ input }: ReturnType<typeof serving>) => input.end()],
    ['it is interrupted', ({ interrupt }: ReturnType<typeof serving>) => interrupt.abort()],
  ] as const)
    it(`aborts what is running once ${how}`, async () => {
      const aborted = Promise.withResolvers<void>();
      const server = serving((_name, _given, signal) => {
        signal.addEventListener('abort', () => aborted.resolve());
        return new Promise(() => {});
      });
      server.act(1);
      await turn();
      end(server);
      await Promise.all([server.ended, aborted.promise]);
    });

  it('reads nothing more from a client that does not read its answers', async () => {
    const input = new PassThrough();
    const stuck = new Writable({ write: () => {} });
    const toolbox = { instructions: 'x'.repeat(10_000), tools: [], call: () => assert.fail() };
    const interrupt = new AbortController();
    const server = new StdioServer({ input, output: stuck, ...toolbox, clock: new FakeClock() });
    const ended = server.serve(interrupt.signal);
    for (let id = 0; id < 10_000; id += 1) {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize' })}\n`);
      if (id % 100 === 0) await turn();
    }
    await turn();
    assert.ok(input.isPaused());
    assert.ok(stuck.writableLength < 2 * MCP_OUTPUT_MAX_BYTES, `${stuck.writableLength}`);
    interrupt.abort();
    await ended;
  });
});
