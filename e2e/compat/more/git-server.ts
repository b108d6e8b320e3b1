/** Git's own HTTP server program (git-http-backend(1)) behind a CGI adapter (RFC 3875) of a few lines. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Scope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';

/** Serves the repositories in a folder; ends with the scope. */
export async function startGitServer(scope: Scope, folder: string): Promise<HttpService> {
  const program = join(execFileSync('git', ['--exec-path']).toString().trim(), 'git-http-backend');
  return await startHttpService(scope, (request, response) => serve(program, folder, request, response));
}

function serve(program: string, folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const { headers } = request;
  const backend = spawn(program, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: headers['content-type'],
      CONTENT_LENGTH: headers['content-length'],
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
      GIT_PROTOCOL: [headers['git-protocol'] ?? []].flat()[0],
    },
  });
  request.pipe(backend.stdin.on('error', () => {}));
  response.on('close', () => backend.kill());
  let head = Buffer.alloc(0);
  const readHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    backend.stdout.off('data', readHead);
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on('data', readHead);
}

const run = promisify(execFile);

/** Runs git in a folder, without this machine's settings and without prompts, and returns what it prints. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
  };
  const { stdout } = await run('git', ['-C', folder, ...args], { env, timeout: 120_000 });
  return stdout.trim();
}
