import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { onLinux } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { RelayUnreachable } from '../../client/relay/errors.ts';
import { Network } from '../../client/network/network.ts';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { record } from '../../testing/command-context.ts';
import { runUpdate } from './update.ts';

const OLD = '#!/bin/sh\necho culvert 0.0.1\n';
const NEW = '#!/bin/sh\necho culvert 7.8.9\n';

describe('culvert update', () => {
  let folder: string;
  let program: string;
  let server: Server;
  let listener: RequestListener;

  beforeEach(async () => {
    folder = temporaryDirectory();
    program = join(folder, 'culvert');
    writeFileSync(program, OLD, { mode: 0o755 });
    server = createServer((request, response) => listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  function origin(): string {
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param sent what arrives instead of the program */
  function offer(
    text: string,
    sent: (response: Parameters<RequestListener>[1]) => void = packed(text),
  ): void {
    listener = ({ url = '' }, response) => {
      const digest = createHash('sha256').update(text).digest('hex');
      if (url === '/download/culvert-linux-x64.sha256') response.end(`${digest}  culvert-linux-x64\n`);
      else if (url === '/download/culvert-linux-x64') sent(response);
      else response.writeHead(404).end();
    };
  }

  async function update({ json = false, system = 'linux-x64' } = {}): Promise<string> {
    const recorded = record();
    const relay = parseRelayAddress(origin());
    await runUpdate({ relay, network: new Network(), json, program, system }, recorded.output);
    return recorded.printed.out;
  }

  it('replaces the program with the one of the relay', async () => {
    offer(NEW);
    assert.equal(await update(), `Updated culvert from 0.1.0 to 7.8.9: ${program}\n`);
    assert.equal(readFileSync(program, 'utf8'), NEW);
    assert.deepEqual(readdirSync(folder), ['culvert']);
    assert.equal(await update({ json: true }), '{"version":"0.1.0","updated":false}\n');
  });

  it('takes a program that arrives as it is', async () => {
    offer(NEW, (response) => response.end(NEW));
    assert.equal(await update({ json: true }), '{"version":"7.8.9","updated":true}\n');
  });

  it('downloads nothing if it has what the relay has', async () => {
    offer(OLD, () => assert.fail('asked for the program'));
    assert.equal(await update(), `culvert 0.1.0 is what ${origin()} hands out.\n`);
  });

  for (const [what, sent, words] of [
    ['is another one', packed('another'), /is not the one that http:\S+ has\. Try again/],
    [
      'breaks off',
      (response) => response.writeHead(200, { 'content-length': 9 }).write('#!', () => response.destroy()),
      /The download broke off \(.+\)\. Try again/,
    ],
    [
      'is packed badly',
      (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('#!'),
      /The download broke off/,
    ],
    [
      'is refused',
      (response) => void response.writeHead(429).end(),
      /does not hand out its program at the moment/,
    ],
  ] as const satisfies readonly (readonly [
    string,
    (response: Parameters<RequestListener>[1]) => void,
    RegExp,
  ])[])
    it(`keeps the old program if the new one ${what}`, async () => {
      offer(NEW, sent);
      await assert.rejects(update(), words);
      assert.equal(readFileSync(program, 'utf8'), OLD);
      assert.deepEqual(readdirSync(folder), ['culvert']);
    });

  it('keeps the old program if the new one does not run here', async () => {
    offer('#!/bin/sh\necho no GLIBC >&2; exit 1\n');
    await assert.rejects(update(), /The relay's program does not run here: no GLIBC$/);
    assert.equal(readFileSync(program, 'utf8'), OLD);
    assert.deepEqual(readdirSync(folder), ['culvert']);
  });

  it('names the system that the relay has no program for', async () => {
    offer(NEW);
    await assert.rejects(update({ system: 'linux-mips' }), /hands out no culvert for linux-mips/);
  });

  it('says that the relay cannot be reached', async () => {
    const relay = parseRelayAddress(origin());
    server.close();
    const closed = { relay, network: new Network(), json: false, program, system: 'linux-x64' };
    await assert.rejects(runUpdate(closed, record().output), RelayUnreachable);
  });

  onLinux('says that it may not write to the folder', async () => {
    offer(NEW);
    // Not even root may create a file there.
    program = '/sys/kernel/uevent_seqnum';
    await assert.rejects(update(), /uevent_seqnum cannot be replaced: you may not write to its folder/);
  });
});

function packed(text: string) {
  return (response: Parameters<RequestListener>[1]): void =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text));
}
