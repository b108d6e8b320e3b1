/**
 * Checks of the public address, and of what a proxy in front of the relay passes on. They need no key, and change
 * nothing.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { API_ERRORS, type VISITOR_ERRORS } from '../../shared/errors.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { type Check, Fault, versionAt } from './check.ts';
import { type Answer, ask, askAhead } from './http-probe.ts';
import { unusedHost } from './name-checks.ts';

/** Reference to working configurations. */
export const EXAMPLES = 'server/deploy has files for nginx, HAProxy and Caddy that do.';

export function proxyChecks(config: Config): Check[] {
  const to = publicUrlOf(config, config.port);

  async function reach(): Promise<string> {
    if (config.publicUrl === undefined && config.port === 0)
      throw new Fault(
        'there is no CULVERT_PUBLIC_URL',
        'Set it to the address at which others reach the relay.',
      );
    try {
      return `${to.origin} is a Culvert relay ${await versionAt({ to })}, ready`;
    } catch (error) {
      throw new Fault(
        `${to.origin}: ${error instanceof Error ? error.message : String(error)}`,
        'See that CULVERT_PUBLIC_URL is right, that the firewall lets its port in, that the proxy in front runs and leads to the ' +
          'port of the relay. Some networks do not lead to their own public address: then try from elsewhere with "culvert doctor".',
        { cause: error },
      );
    }
  }

  async function host(): Promise<string> {
    const port = to.port === '' ? '' : `:${to.port}`;
    const { headers } = await ask({ to, path: '/', headers: { host: unusedHost(config) + port } });
    if (headers['culvert-error'] === ('tunnel-unknown' satisfies keyof typeof VISITOR_ERRORS))
      return 'Host comes through';
    throw new Fault(
      'a request to a tunnel does not arrive as one: Host does not come through',
      `The proxy must pass Host on as it came (nginx: proxy_set_header Host $http_host). ${EXAMPLES}`,
    );
  }

  /** Without a key the relay refuses, but only after it has recognized the WebSocket upgrade. */
  async function upgrade(): Promise<string> {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    };
    for (const path of ['/ws/control', '/ws/data', '/ws/trunk']) {
      const answer = await ask({ to, path: `${path}?tunnel_id=${randomUUID()}`, headers });
      // Any of its own refusals will do, except the one that reports a missing upgrade.
      const code = codeOf(answer);
      if (typeof code === 'string' && code !== API_ERRORS.upgradeRequired.code) continue;
      throw new Fault(
        `${path}: a WebSocket does not arrive as one (status ${answer.status})`,
        `The proxy must pass Upgrade and Connection on, over HTTP/1.1 and with a timeout of many hours. ${EXAMPLES}`,
      );
    }
    return 'WebSockets come through';
  }

  /** Without a key the relay answers before there is a body; a proxy that buffers bodies waits for it. */
  async function body(): Promise<string> {
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    try {
      await askAhead({ to, method: 'POST', path: '/v1/tunnels', headers }, 'response');
      return 'bodies of requests are passed on as they come';
    } catch (error) {
      throw new Fault(
        'a request arrives only with its whole body: uploads and event streams would wait',
        `The proxy must not collect requests (nginx: proxy_request_buffering off). ${EXAMPLES}`,
        { cause: error },
      );
    }
  }

  async function interim(): Promise<string> {
    const headers = { 'content-type': 'application/json', 'content-length': '2', expect: '100-continue' };
    try {
      await askAhead({ to, method: 'POST', path: '/v1/invites/none', headers }, 'continue');
      return 'whoever asks before sending is told to go on (100)';
    } catch (error) {
      throw new Fault(
        `whoever asks before sending is not told to go on (100): ${error instanceof Error ? error.message : String(error)}`,
        `The proxy must answer Expect, or pass it on. ${EXAMPLES}`,
        { cause: error },
      );
    }
  }

  const needs = 'public';
  return [
    { name: needs, look: reach },
    { name: 'host', needs, look: host },
    { name: 'upgrade', needs, look: upgrade },
    { name: 'body', needs, look: body },
    { name: 'interim', needs, look: interim },
  ];
}

function codeOf({ text }: Answer): unknown {
  try {
    return (JSON.parse(text) as { code?: unknown }).code;
  } catch {
    return undefined;
  }
}
