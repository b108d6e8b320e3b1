/** Checks how a proxy in front handles a tunnel's traffic, through a temporary tunnel. */
import type { ServerResponse } from 'node:http';
import { namesMuchOfTheInternet } from '../address-network.ts';
import type { Clock } from '../clock.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { isTrusted } from '../edge/request-head.ts';
import { DIAGNOSIS_ANSWER_MS, DIAGNOSIS_CHECK_MS, DIAGNOSIS_PIECE_MS } from '../limits.ts';
import { type Check, Fault, Skipped } from './check.ts';
import { ask, askPieces } from './http-probe.ts';
import { EXAMPLES } from './proxy-checks.ts';
import { OtherDatabaseError, type TestTunnel } from './test-tunnel.ts';

/** of a slow response */
const PIECES = ['first ', 'second ', 'third ', 'last'] as const;
/** An address that nobody has (RFC 5737), which a visitor claims as its own. */
const CLAIMED = '192.0.2.99';

export interface TunnelChecksOptions {
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
    if (opened === undefined) throw new Skipped('not tried without a tunnel');
    return opened;
  }

  async function openTunnel(): Promise<string> {
    try {
      opened = await open();
    } catch (error) {
      if (error instanceof Skipped) throw error;
      const isOther = error instanceof OtherDatabaseError;
      throw new Fault(
        `a tunnel of the doctor's own: ${error instanceof Error ? error.message : String(error)}`,
        isOther
          ? 'Give this command the settings of the relay (its relay.env): the relay uses another database, so that what is administered here has no effect.'
          : `See what is said above about the public address, and the log of the relay. ${EXAMPLES}`,
        { cause: error },
      );
    }
    return 'a tunnel can be made, and its client connects';
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
    if (!late) return 'responses are passed on as they come';
    throw new Fault(
      'responses arrive only when they are whole: event streams, progress and downloads would wait',
      `The proxy must not collect responses (nginx: proxy_buffering off; Caddy: flush_interval 1ms). ${EXAMPLES}`,
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
        `a hint before a response (103) breaks the response: ${error instanceof Error ? error.message : String(error)}`,
        `Name the proxy in CULVERT_TRUST_PROXY: the relay sends hints to no proxy that it knows. ${EXAMPLES}`,
        { cause: error },
      );
    }
    return seen.includes(103)
      ? 'hints before a response (103) arrive'
      : 'hints before a response (103) are left out on the way, which only costs time';
  }

  /** The last address that the local service gets is the one that connected to the relay. */
  async function forwarded(): Promise<string> {
    if (namesMuchOfTheInternet(config.trustedProxies))
      throw new Fault(
        'CULVERT_TRUST_PROXY names a large part of the internet: visitors from there can claim to come from any address',
        `Name only the proxies in front of this relay. ${EXAMPLES}`,
      );
    const { host } = tunnel();
    let list: string[] = [];
    tunnel().serve = (request, response) => {
      list = String(request.headers['x-forwarded-for'] ?? '').split(/, */);
      response.end();
    };
    await ask({ to, path: '/', headers: { host, 'x-forwarded-for': CLAIMED } });
    const peer = list.at(-1) ?? '';
    if (config.trustedProxies.rules.length === 0) return withoutTrust(peer);
    if (!isTrusted(peer, config.trustedProxies))
      throw new Fault(
        `requests come from ${peer}, which CULVERT_TRUST_PROXY does not name`,
        'Name the proxy there: until then all visitors are one address, with one limit, and links are http. If there is none in front, take the setting away.',
      );
    if (list.length === 1)
      throw new Fault(
        `${peer} does not say whom it passes on, so that all visitors are one address`,
        `The proxy must set X-Forwarded-For to the visitor's address (nginx: proxy_set_header X-Forwarded-For $remote_addr). ${EXAMPLES}`,
      );
    if (list.length === 2 && list[0] === CLAIMED)
      throw new Fault(
        'a visitor can say that it comes from any address: what it writes into X-Forwarded-For is believed',
        `The proxy must replace X-Forwarded-For, or add the visitor's address to it. ${EXAMPLES}`,
      );
    return `visitors come from where ${peer} says, and not from where they say`;
  }

  function withoutTrust(peer: string): string {
    const isEncryptedElsewhere =
      to.protocol === 'https:' && config.tls === undefined && config.acme === undefined;
    if (!isEncryptedElsewhere)
      return `visitors come from where they connect, as ${peer} here; a proxy in front would have to be in CULVERT_TRUST_PROXY`;
    throw new Fault(
      `a proxy is in front (${peer}), and CULVERT_TRUST_PROXY does not name it: all visitors are one address`,
      `Start the relay with CULVERT_TRUST_PROXY=${peer}, if that is the proxy. ${EXAMPLES}`,
    );
  }

  async function idle(): Promise<string> {
    if (idleMs === undefined)
      throw new Skipped(
        'not tried: a proxy has to let a response be silent for hours (nginx: proxy_read_timeout 1d; HAProxy: timeout server 1d, timeout tunnel 1d). "culvert-relay doctor --idle 5m" waits that long',
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
    if (text === 'first last') return `a response may be silent for ${idleMs / 1000} s`;
    const seconds = Math.round((clock.monotonic() - since) / 1000);
    throw new Fault(
      `a response that is silent for ${idleMs / 1000} s is broken off after ${seconds} s`,
      `Raise the time that the proxy waits for the relay to a day (nginx: proxy_read_timeout; HAProxy: timeout server, timeout tunnel). ${EXAMPLES}`,
    );
  }

  const needs = 'tunnel';
  return [
    { name: needs, needs: 'upgrade', look: openTunnel },
    { name: 'responses', needs, look: responses },
    { name: 'hints', needs, look: hints },
    { name: 'forwarded', needs, look: forwarded },
    { name: 'idle', needs, limitMs: DIAGNOSIS_CHECK_MS + (idleMs ?? 0), look: idle },
  ];
}
