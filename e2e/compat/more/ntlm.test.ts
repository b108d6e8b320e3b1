/** Visitors log in with NTLM, which authenticates a connection, and nobody else is logged in with them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Culvert } from '../../support/programs.ts';
import { sharedRelaySuite } from '../../support/relay-suite.ts';
import { closedPort } from '../../support/services/listen.ts';
import { Project } from '../project.ts';

const SERVER = `
  import { createServer } from 'node:http';
  import ntlm from 'express-ntlm';
  const authenticate = ntlm({ domain: 'EXAMPLE' });
  const server = createServer((request, response) => {
    response.locals = {};
    authenticate(request, response, async () => {
      let body = '';
      for await (const piece of request) body += piece;
      response.end(request.ntlm.UserName + ' ' + request.method + ' ' + body);
    });
  });
  server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
`;

const execute = promisify(execFile);

async function curl(...args: string[]): Promise<string> {
  return (await execute('curl', ['--silent', '--show-error', '--max-time', '60', ...args])).stdout;
}

describe('a service that asks for NTLM', () => {
  const { scope, relay } = sharedRelaySuite();

  it('lets each visitor in with its own name, whatever the method, and nobody else', async () => {
    const project = new Project(scope, { 'server.mjs': SERVER }, 'more');
    const port = await closedPort();
    await project.run(scope, 'server.mjs', [String(port)], /listening/);
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, port, ['--name', 'ntlm']);
    const url = tunnel.public_url;
    const visit = (user: string, ...args: string[]): Promise<string> =>
      curl('--ntlm', '--user', `${user}:secret`, ...args);
    const visits = ['ann', 'ben', 'eve', 'dan'].flatMap((user) => [
      [visit(user, url), `${user} GET `] as const,
      [visit(user, '--data', user, url), `${user} POST ${user}`] as const,
      // The second one goes over the connection that the first one has authenticated.
      [visit(user, '--data', user, url, url), `${user} POST ${user}`.repeat(2)] as const,
    ]);
    for (const [visited, expected] of visits) assert.equal(await visited, expected);
    assert.match(await curl('--head', url), /^HTTP\/1\.1 401 .*\r\nWWW-Authenticate: NTLM\r\n/is);
  });
});
