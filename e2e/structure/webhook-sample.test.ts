/** The handler of docs/start/debug-a-webhook.md, put together as a reader does it, answers hostile webhooks and keeps running. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

const SECRET = 'of both';
const PAGE = readFileSync('docs/start/debug-a-webhook.md', 'utf8');

/** The page's first handler with its two corrections, on a free port that it prints. */
function handler(): string {
  const [first = '', fixed = '', check = '', line = ''] = [...PAGE.matchAll(/^```js\n([^]*?)^```$/gm)].map(
    ([, sample]) => sample,
  );
  const program = `${check}${first}`
    .replace(/ +const \{ action, issue \}.*\n.*\n/, `${line}${fixed}`)
    .replace(
      /^\}\)\.listen\(4000, (.*)\);$/m,
      '}).listen(0, $1, function () { console.log(this.address().port); });',
    );
  assert.ok(program.includes(line) && program.includes(fixed) && program.includes('listen(0'), program);
  return program;
}

const sign = (body: string | Buffer, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const BODY = Buffer.from('{"action":"geöffnet","number":7}');
/** Behind the first byte of the "ö". */
const MIDDLE = BODY.indexOf('ö') + 1;

const ROWS: readonly [what: string, status: number, body: Buffer, signature?: string][] = [
  ['a right signature', 204, BODY, sign(BODY)],
  ['none', 401, BODY],
  ['an empty one', 401, BODY, ''],
  ['that of another secret', 401, BODY, sign(BODY, 'another')],
  ['that of another body', 401, BODY, sign('{}')],
  ['a right one with more behind it', 401, BODY, `${sign(BODY)}00`],
  ['one as long that is not ASCII', 401, BODY, `${sign(BODY).slice(0, -1)}ÿ`],
  ['as many bytes that are not ASCII', 401, BODY, `${sign(BODY).slice(0, -2)}ÿ`],
  ['a right one of what is no JSON', 500, Buffer.from('ö'), sign('ö')],
];

describe('the webhook handler of docs/start/debug-a-webhook.md', () => {
  let child: ChildProcessByStdio<Writable, Readable, null>;
  let port: number;

  before(async () => {
    const env = { ...process.env, WEBHOOK_SECRET: SECRET };
    child = spawn(process.execPath, ['--input-type=module'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(handler());
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    port = Number(line);
  });
  after(() => child.kill());

  /** Sends a head, and with it the body in two chunks, which the handler gets one by one. */
  function post(body: Buffer, fields: string): Socket {
    const head = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n${fields}\r\n`;
    const chunks = [body.subarray(0, MIDDLE), body.subarray(MIDDLE)]
      .filter(({ length }) => length > 0)
      .flatMap((chunk) => [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n']);
    const bytes = [head, ...chunks, ...(body.length > 0 ? ['0\r\n\r\n'] : [])];
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    socket.end(
      Buffer.concat(bytes.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part))),
    );
    return socket;
  }

  async function assertStatus(status: number, body: Buffer, signature?: string): Promise<void> {
    let response = '';
    const fields = signature === undefined ? '' : `X-Hub-Signature-256: ${signature}\r\n`;
    for await (const piece of post(body, fields)) response += String(piece);
    assert.match(response, new RegExp(`^HTTP/1.1 ${status} `));
  }

  for (const [what, status, body, signature] of ROWS)
    it(`answers ${what} with ${status}`, async () => await assertStatus(status, body, signature));

  it('keeps running when a sender leaves before its body', async () => {
    const sender = post(Buffer.alloc(0), 'Expect: 100-continue\r\n');
    await once(sender, 'data');
    sender.resetAndDestroy();
    await assertStatus(204, BODY, sign(BODY));
  });
});
