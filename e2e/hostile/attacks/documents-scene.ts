/**
 * A relay in a network of its own, with an internet of two addresses, for client-documents.test.ts. It tries the documents
 * of clients, and prints what became of each.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { Client, UnauthorizedError } from '@modelcontextprotocol/client';
import { createAccount } from '../../support/accounts.ts';
import { codeIn, newProof, OAuthClient, submit } from '../../support/agents.ts';
import { Authority } from '../../support/certificates.ts';
import { CookieBrowser } from '../../support/cookie-browser.ts';
import { sdkTransport, TestProvider } from '../../support/mcp-client.ts';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { SpecClient } from '../../support/spec-client/client.ts';

const INTERNET = '203.0.113.80';
const NAMES = [
  'app',
  'private',
  'mixed',
  'turns',
  'away',
  'big',
  'slow',
  'page',
  'missing',
  'compressed',
].map((name) => `${name}.test`);

const scope = new Scope();
const authority = new Authority(scope);
const { cert, key } = authority.issue(...NAMES);
/** the requests that arrived at each address */
const seen: Record<string, string[]> = { [INTERNET]: [], '127.0.0.1': [] };

function answer(request: IncomingMessage, response: ServerResponse): void {
  const host = request.headers.host ?? '';
  seen[request.socket.localAddress ?? '']?.push(host);
  const document = {
    client_id: `https://${host}/client.json`,
    client_name: 'Claude',
    redirect_uris: ['http://127.0.0.1:33418/back'],
  };
  const text = JSON.stringify(document);
  response.setHeader('Content-Type', host === 'page.test' ? 'text/html' : 'application/json');
  if (host === 'slow.test') return;
  if (host === 'away.test') response.writeHead(302, { Location: 'https://app.test/client.json' }).end();
  else if (host === 'missing.test') response.writeHead(404).end(text);
  else if (host === 'compressed.test') response.setHeader('Content-Encoding', 'gzip').end(text);
  else if (host === 'big.test') response.end(JSON.stringify({ ...document, more: 'x'.repeat(16_384) }));
  else response.setHeader('Cache-Control', 'max-age=60').end(text);
}

/** `turns.test` is on the internet when it is looked up first, and this machine after that. */
function startDns(): Promise<void> {
  const socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', (query, from) => {
    const question = query.subarray(12);
    const end = question.indexOf(0) + 5;
    const isAddress = question[end - 3] === 1;
    asked += isAddress ? 1 : 0;
    const address = (asked <= 1 ? INTERNET : '127.0.0.1').split('.').map(Number);
    const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address]);
    socket.send(
      Buffer.concat([head, question.subarray(0, end), ...(isAddress ? [record] : [])]),
      from.port,
      from.address,
    );
  });
  scope.defer(() => socket.close());
  return new Promise((resolve) => {
    socket.bind(53, '127.0.0.1', resolve);
  });
}

async function listen(address: string): Promise<void> {
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer);
  scope.defer(() => server.closeAllConnections());
  await new Promise<void>((resolve) => {
    server.listen(443, address, resolve);
  });
}

await Promise.all([startDns(), listen(INTERNET), listen('127.0.0.1')]);
const relay = await Relay.start(scope, { NODE_EXTRA_CA_CERTS: authority.path });
const visitors: unknown[] = [];
const service = await startHttpService(scope, (request, response) => {
  visitors.push(request.headers['culvert-visitor']);
  response.writeHead(405).end();
});
const account = await createAccount(relay);
const access = { oauth: true, password: 'mild-oak' };
const { tunnel } = await SpecClient.start(scope, relay, account.key, { local_port: service.port, access });
const url = `http://${tunnel.slug}.localhost:${relay.port}/mcp`;
const outcomes: Record<string, number> = {};

for (const id of [
  ...NAMES.map((name) => `https://${name}/client.json`),
  'https://untrusted.test/client.json',
  'https://unknown.test/client.json',
  'https://127.0.0.1/client.json',
  'https://[::1]/client.json',
  'https://[::ffff:7f00:1]/client.json',
  'https://app.test/other.json',
]) {
  const client = new OAuthClient(relay.port, url);
  client.id = id;
  const browser = new CookieBrowser();
  const page = await browser.step(client.authorizeAddress());
  outcomes[id.replace('https://', '').replace('/client.json', '')] = page.status;
  if (id !== 'https://app.test/client.json') continue;
  client.proof = newProof();
  const again = await browser.step(client.authorizeAddress());
  const back = await submit(browser, again, 'Allow', { culvert_password: 'mild-oak' });
  assert.equal((await client.redeem(codeIn(back, client))).status, 200);
}

const provider = new TestProvider('https://app.test/client.json');
const transport = sdkTransport(url, provider);
await assert.rejects(new Client({ name: 'test', version: '1' }).connect(transport), UnauthorizedError);
const browser = new CookieBrowser();
const page = await browser.step(provider.asked ?? assert.fail('no address'));
const back = await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' });
await transport.finishAuth(new URL(back.head.field('location') ?? assert.fail(back.text)).searchParams);
await new Client({ name: 'test', version: '1' }).connect(sdkTransport(url, provider)).catch(() => {});
const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/agents`);
const { agents } = json as { agents: { name: string; host: string; returns_to: string }[] };

await scope.end();
console.log(
  JSON.stringify({
    outcomes,
    seen,
    visitors: [...new Set(visitors)],
    agents: agents.map(({ name, host, returns_to }) => [name, host, returns_to]),
  }),
);
process.exit(0);
