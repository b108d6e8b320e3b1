/**
 * Checks of the public address, and of what a proxy in front of the relay passes on. They need no key, and change
 * nothing.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { API_ERRORS, type VISITOR_ERRORS } from '../../shared/errors.ts';
import { namesMuchOfTheInternet } from '../address-network.ts';
import type { Clock } from '../clock.ts';
import { type Config, publicUrlOf, schemeOf } from '../config.ts';
import { isTrusted } from '../edge/request-head.ts';
import { type Check, DIAGNOSIS_CHECK_MS, Fault, Skipped, versionAt } from './check.ts';
import { type Answer, ask, askAhead, askPieces, DIAGNOSIS_ANSWER_MS } from './http-probe.ts';
import { versionHere } from './machine-checks.ts';
import { unusedHost } from './name-checks.ts';
import { OtherDatabaseError, type TestTunnel } from './test-tunnel.ts';

/**
 * How long the first part of a response may take to arrive while the second part is held back (the check for
 * buffering proxies).
 */
const DIAGNOSIS_PIECE_MS = 3000;

/** Reference to working configurations. */
export const EXAMPLES = 'server/deploy has working examples for nginx, HAProxy and Caddy.';
const TCP_EXAMPLE = 'server/deploy/haproxy-tcp.cfg is a working example.';

export function proxyChecks(config: Config): Check[] {
  const to = publicUrlOf(config, config.port);

  async function reach(): Promise<string> {
    if (config.publicUrl === undefined && config.port === 0)
      throw new Fault(
        'CULVERT_PUBLIC_URL is not set',
        "Set CULVERT_PUBLIC_URL to the relay's public address.",
      );
    try {
      return `${to.origin} is running Culvert relay ${await versionAt({ to })} and is ready`;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (await mayMissProxyHeader(config, to))
        throw new Fault(`${to.origin}: ${why}, although the relay responds here`, fixOfHeader(config), {
          cause: error,
        });
      throw new Fault(
        `${to.origin}: ${why}`,
        'Check that CULVERT_PUBLIC_URL is right, that the firewall allows its port, and that any proxy in front is running and forwards to ' +
          'the relay\'s port. Some networks cannot reach their own public address; in that case, run "culvert doctor" from elsewhere.',
        { cause: error },
      );
    }
  }

  async function host(): Promise<string> {
    const port = to.port === '' ? '' : `:${to.port}`;
    const { headers } = await ask({ to, path: '/', headers: { host: unusedHost(config) + port } });
    if (headers['culvert-error'] === ('tunnel-unknown' satisfies keyof typeof VISITOR_ERRORS))
      return 'the Host header is forwarded';
    throw new Fault(
      'the Host header is not forwarded, so the relay does not recognize requests to tunnels',
      `The proxy must forward Host unchanged (nginx: proxy_set_header Host $http_host). ${EXAMPLES}`,
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
        `${path}: the WebSocket upgrade does not reach the relay (status ${answer.status})`,
        `The proxy must forward Upgrade and Connection, over HTTP/1.1 and with a timeout of many hours. ${EXAMPLES}`,
      );
    }
    return 'WebSockets are forwarded';
  }

  /** Without a key the relay answers before there is a body; a proxy that buffers bodies waits for it. */
  async function body(): Promise<string> {
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    try {
      await askAhead({ to, method: 'POST', path: '/v1/tunnels', headers }, 'response');
      return 'request bodies are forwarded as they arrive';
    } catch (error) {
      throw new Fault(
        'requests arrive only once their body is complete, which delays uploads and event streams',
        `The proxy must not buffer requests (nginx: proxy_request_buffering off). ${EXAMPLES}`,
        { cause: error },
      );
    }
  }

  async function interim(): Promise<string> {
    const headers = { 'content-type': 'application/json', 'content-length': '2', expect: '100-continue' };
    try {
      await askAhead({ to, method: 'POST', path: '/v1/invites/none', headers }, 'continue');
      return 'Expect: 100-continue is answered';
    } catch (error) {
      throw new Fault(
        `Expect: 100-continue is not answered: ${error instanceof Error ? error.message : String(error)}`,
        `The proxy must answer Expect, or forward it. ${EXAMPLES}`,
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

/**
 * Whether the relay is running, but cannot understand connections through its public address: one of the two expects a
 * PROXY protocol header, and the other does not.
 */
async function mayMissProxyHeader(config: Config, to: URL): Promise<boolean> {
  try {
    await versionHere(config);
  } catch {
    return false;
  }
  try {
    // Such a refusal is immediate. After a first request without a response, the check has little time left.
    const limitMs = (DIAGNOSIS_CHECK_MS - DIAGNOSIS_ANSWER_MS) / 2;
    const { headers } = await ask({ to, path: '/', limitMs });
    return headers['culvert-error'] === ('bad-request' satisfies keyof typeof VISITOR_ERRORS);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return code === 'ECONNRESET' || code === 'EPROTO' || code.startsWith('ERR_SSL_');
  }
}

function fixOfHeader({ proxyProtocol }: Config): string {
  return proxyProtocol
    ? 'The relay expects a PROXY protocol header (CULVERT_PROXY_PROTOCOL=on) from the addresses in CULVERT_TRUST_PROXY, and from no others. Turn it on in the load balancer (HAProxy: send-proxy-v2; nginx: proxy_protocol on), and check that its address is in CULVERT_TRUST_PROXY. ' +
        TCP_EXAMPLE
    : 'If a TCP load balancer in front of the relay sends a PROXY protocol header (HAProxy: send-proxy-v2; nginx: proxy_protocol on), start the relay with CULVERT_PROXY_PROTOCOL=on and the address of the load balancer in CULVERT_TRUST_PROXY. Otherwise, check which server the load balancer connects to. server/deploy/haproxy-tcp.cfg is a working example.';
}

function codeOf({ text }: Answer): unknown {
  try {
    return (JSON.parse(text) as { code?: unknown }).code;
  } catch {
    return undefined;
  }
}

/* Checks how a proxy in front handles a tunnel's traffic, through a temporary tunnel. */

/** of a slow response */
const PIECES = ['first ', 'second ', 'third ', 'last'] as const;
/** An address that nobody has (RFC 5737), which a visitor claims as its own. */
const CLAIMED = '192.0.2.99';

interface TunnelChecksOptions {
  readonly config: Config;
  readonly clock: Pick<Clock, 'monotonic' | 'setTimeout'>;
  /** opens the tunnel. @throws Skipped, or errors of {@link TestTunnel.open} */
  readonly open: () => Promise<TestTunnel>;
  /** ms that an answer is silent; not checked if undefined */
  readonly idleMs: number | undefined;
}

export function tunnelChecks({ config, clock, open, idleMs }: TunnelChecksOptions): Check[] {
  const to = publicUrlOf(config, config.port);
  let opened: TestTunnel | undefined;

  function tunnel(): TestTunnel {
    if (opened === undefined) throw new Skipped('not checked without a tunnel');
    return opened;
  }

  async function openTunnel(): Promise<string> {
    try {
      opened = await open();
    } catch (error) {
      if (error instanceof Skipped) throw error;
      const isOther = error instanceof OtherDatabaseError;
      throw new Fault(
        `the test tunnel: ${error instanceof Error ? error.message : String(error)}`,
        isOther
          ? 'Run this command with the same settings as the relay (its relay.env). The relay is using a different database, so changes made here have no effect.'
          : `Check the results above for the public address, and check the relay's log. ${EXAMPLES}`,
        { cause: error },
      );
    }
    return 'a tunnel can be created, and its client connects';
  }

  /**
   * Each piece is held back until the previous one has arrived. The first is sent with the head, which no proxy
   * delays.
   */
  async function responses(): Promise<string> {
    const { host } = tunnel();
    const held: string[] = [...PIECES];
    let answering: ServerResponse | undefined;
    const next = (): void => {
      const piece = held.shift();
      if (piece === undefined) answering?.end();
      else answering?.write(piece);
    };
    tunnel().serve = (_request, response) => {
      answering = response;
      // Many proxies only pass on chunks immediately if the length of the response is unknown.
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-length': PIECES.join('').length,
      });
      next();
    };
    let late = false;
    const timer = clock.setTimeout(() => {
      late = true;
      while (held.length > 0) next();
      next();
    }, DIAGNOSIS_PIECE_MS);
    try {
      const text = await askPieces({ to, path: '/', headers: { host } }, () => late || next());
      if (text !== PIECES.join(''))
        throw new Error(`a response arrives as ${JSON.stringify(text.slice(0, 40))}`);
    } finally {
      timer.cancel();
    }
    if (!late) return 'responses are forwarded as they arrive';
    throw new Fault(
      'responses arrive only once they are complete, which delays event streams, progress output and downloads',
      `The proxy must not buffer responses (nginx: proxy_buffering off; Caddy: flush_interval 1ms). ${EXAMPLES}`,
    );
  }

  /** Some proxies mistake an informational response for the final one. */
  async function hints(): Promise<string> {
    const { host } = tunnel();
    tunnel().serve = (_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      response.end('after');
    };
    const seen: number[] = [];
    const onInformation = (status: number): void => void seen.push(status);
    try {
      const { status, text } = await ask({ to, path: '/', headers: { host }, onInformation });
      if (status !== 200 || text !== 'after') throw new Error(`status ${status}`);
    } catch (error) {
      throw new Fault(
        `an early hint (status 103) breaks the response: ${error instanceof Error ? error.message : String(error)}`,
        `Add the proxy to CULVERT_TRUST_PROXY: the relay sends no early hints to known proxies. ${EXAMPLES}`,
        { cause: error },
      );
    }
    return seen.includes(103)
      ? 'early hints (status 103) arrive'
      : 'early hints (status 103) are dropped on the way, which only makes pages load more slowly';
  }

  /** The last address that the local service gets is the one that connected to the relay. */
  async function forwarded(): Promise<string> {
    if (namesMuchOfTheInternet(config.trustedProxies))
      throw new Fault(
        'CULVERT_TRUST_PROXY covers a large part of the internet: visitors from there can claim any address',
        `List only the proxies in front of this relay. ${EXAMPLES}`,
      );
    const { host } = tunnel();
    let list: string[] = [];
    tunnel().serve = (request, response) => {
      list = String(request.headers['x-forwarded-for'] ?? '').split(/, */);
      response.end();
    };
    await ask({ to, path: '/', headers: { host, 'x-forwarded-for': CLAIMED } });
    const peer = list.at(-1) ?? '';
    if (config.proxyProtocol)
      return `a visitor's address is taken from the load balancer's PROXY protocol header, here ${peer}`;
    if (config.trustedProxies.rules.length === 0) return withoutTrust(peer);
    if (!isTrusted(peer, config.trustedProxies))
      throw new Fault(
        `requests come from ${peer}, which is not in CULVERT_TRUST_PROXY`,
        "Add the proxy's address to CULVERT_TRUST_PROXY. Until then, all visitors share one address and one limit, and links use http. If there is no proxy in front of the relay, remove the setting.",
      );
    if (list.length === 1)
      throw new Fault(
        `${peer} does not forward visitors' addresses, so all visitors share one address`,
        `The proxy must set X-Forwarded-For to the visitor's address (nginx: proxy_set_header X-Forwarded-For $remote_addr). ${EXAMPLES}`,
      );
    if (list.length === 2 && list[0] === CLAIMED)
      throw new Fault(
        'a visitor can claim any address, because its X-Forwarded-For is trusted',
        `The proxy must replace X-Forwarded-For, or add the visitor's address to it. ${EXAMPLES}`,
      );
    return `visitors' addresses are reported by the proxy ${peer}, not by the visitors themselves`;
  }

  function withoutTrust(peer: string): string {
    const isEncryptedElsewhere =
      to.protocol === 'https:' && config.tls === undefined && config.acme === undefined;
    if (!isEncryptedElsewhere)
      return `a visitor's address is taken from its connection, here ${peer}; if there is a proxy in front of the relay, add it to CULVERT_TRUST_PROXY, with CULVERT_PROXY_PROTOCOL=on for a TCP load balancer`;
    throw new Fault(
      `there is a proxy (${peer}) in front of the relay, but it is not in CULVERT_TRUST_PROXY, so all visitors share one address`,
      `If ${peer} is the proxy, start the relay with CULVERT_TRUST_PROXY=${peer}. ${EXAMPLES}`,
    );
  }

  async function idle(): Promise<string> {
    if (idleMs === undefined)
      throw new Skipped(
        'not checked: a proxy must allow a response to pause for hours (nginx: proxy_read_timeout 1d; HAProxy: timeout server 1d, timeout tunnel 1d). Run "culvert-relay doctor --idle 5m" to check this for 5 minutes',
      );
    const { host } = tunnel();
    tunnel().serve = (_request, response) => {
      response.write('first ');
      const timer = clock.setTimeout(() => response.end('last'), idleMs);
      response.on('close', () => timer.cancel());
    };
    const since = clock.monotonic();
    const limitMs = idleMs + DIAGNOSIS_ANSWER_MS;
    const text = await askPieces({ to, path: '/', headers: { host }, limitMs }, () => {}).catch(String);
    if (text === 'first last') return `a response can pause for ${idleMs / 1000} s`;
    const seconds = Math.round((clock.monotonic() - since) / 1000);
    throw new Fault(
      `a response that pauses for ${idleMs / 1000} s is cut off after ${seconds} s`,
      `Raise the proxy's timeout for the relay to one day (nginx: proxy_read_timeout; HAProxy: timeout server, timeout tunnel). ${EXAMPLES}`,
    );
  }

  /** Only a relay that serves TLS itself has TLS tunnels. */
  async function tlsTunnel(): Promise<string> {
    if (schemeOf(config) !== 'https')
      throw new Skipped('the relay does not serve TLS itself, so there are no TLS tunnels');
    return `${await visitRaw('tls', `A proxy in front of the relay must forward TLS without decrypting it (HAProxy: mode tcp; nginx: stream). ${TCP_EXAMPLE}`)} passes TLS on without decrypting it`;
  }

  async function tcpTunnel(): Promise<string> {
    if (config.tcpPorts === undefined)
      throw new Skipped('CULVERT_TCP_PORTS is not set, so there are no TCP tunnels');
    const { first, last } = config.tcpPorts;
    const fix = `Open TCP ports ${first}-${last} in the firewall, and let a load balancer or router in front forward them to the same ports. If CULVERT_TCP_PORTS was changed, restart the relay.`;
    return `${await visitRaw('tcp', fix)} accepts connections from this machine; a firewall may still block them from elsewhere`;
  }

  async function visitRaw(protocol: 'tls' | 'tcp', fix: string): Promise<string> {
    const visited = tunnel();
    try {
      return await visited.visitRaw(protocol);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault(`a ${protocol.toUpperCase()} tunnel cannot be reached: ${why}`, fix, { cause: error });
    }
  }

  const needs = 'tunnel';
  return [
    { name: needs, needs: 'upgrade', look: openTunnel },
    { name: 'responses', needs, look: responses },
    { name: 'hints', needs, look: hints },
    { name: 'forwarded', needs, look: forwarded },
    { name: 'tls-tunnel', needs, look: tlsTunnel },
    { name: 'tcp-tunnel', needs, look: tcpTunnel },
    { name: 'idle', needs, limitMs: DIAGNOSIS_CHECK_MS + (idleMs ?? 0), look: idle },
  ];
}
