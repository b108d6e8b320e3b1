/** From this machine to the relay: name, connection, TLS, the relay itself, the key. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RELAY_TITLE } from '../../shared/constraints.ts';
import { call, type CallResponse } from '../engine/network/call.ts';
import { dial } from '../engine/network/dial.ts';
import { describeNetworkError } from '../engine/network/errors.ts';
import { ApiClient } from '../engine/relay/api-client.ts';
import { refusesKey } from '../engine/relay/errors.ts';
import { describeReachError } from '../engine/relay/reach-error.ts';
import { DOCTOR_ANSWER_MAX_BYTES, DOCTOR_HOP_TIMEOUT_MS } from './limits.ts';
import { connectOnce, within } from './attempts.ts';
import { type Hop, HopFailure, HopSkipped } from './hop.ts';
import type { Subject } from './subject.ts';

export function relayHops(subject: Subject): Hop[] {
  const { relay, network, remedies } = subject;
  const proxy = network.proxyFor(relay);
  const { hostname, port, secure, origin } = relay;

  async function dns(): Promise<string> {
    if (isIP(hostname) !== 0) throw new HopSkipped(`${hostname} is an address`);
    if (proxy !== undefined) throw new HopSkipped(`${hostname} is looked up by the proxy ${proxy}`);
    try {
      const addresses = await within(DOCTOR_HOP_TIMEOUT_MS, lookup(hostname, { all: true }));
      return `${hostname} is ${addresses.map(({ address }) => address).join(', ')}`;
    } catch (error) {
      throw new HopFailure(
        `${hostname}: ${describeNetworkError(error)}`,
        `Check the relay's address (from ${subject.relayFrom}) and this machine's connection.`,
      );
    }
  }

  async function connect(): Promise<string> {
    if (proxy !== undefined) throw new HopSkipped(`over the proxy ${proxy}, with the next hop`);
    try {
      const dialed = { host: hostname, port };
      await within(
        DOCTOR_HOP_TIMEOUT_MS,
        connectOnce((handler) => dial(dialed, handler)),
      );
      return `port ${port} takes connections`;
    } catch (error) {
      throw new HopFailure(
        `port ${port} of ${hostname}: ${describeNetworkError(error)}`,
        'See that culvert-relay runs there, and that no firewall is between; a proxy goes into HTTPS_PROXY.',
      );
    }
  }

  async function tls(): Promise<string> {
    if (!secure) throw new HopSkipped(`${origin} is not encrypted`);
    try {
      await within(
        DOCTOR_HOP_TIMEOUT_MS,
        connectOnce((handler) => network.connect(relay, {}, handler)),
      );
      return `the certificate is for ${hostname} and trusted`;
    } catch (error) {
      throw new HopFailure(describeNetworkError(error), remedies.certificate);
    }
  }

  async function health(): Promise<string> {
    const { status, text } = await get('/v1/openapi.json');
    const version = status === 200 ? versionOf(text) : undefined;
    if (version === undefined) {
      throw new HopFailure(
        `what answers at ${origin} does not say that it is a Culvert relay (status ${status})`,
        'Check the address; or a proxy in front of the relay does not pass requests on.',
      );
    }
    if ((await get('/readyz')).status !== 200) {
      const fix = 'Check the log of the relay: its database cannot be reached, or it is shutting down.';
      throw new HopFailure('it runs, and is not ready', fix);
    }
    return `${origin} is a Culvert relay ${version}, up and ready`;
  }

  async function get(path: string): Promise<CallResponse> {
    try {
      const wanted = { method: 'GET', path, headers: {}, body: undefined };
      const limits = { maxBytes: DOCTOR_ANSWER_MAX_BYTES, timeoutMs: DOCTOR_HOP_TIMEOUT_MS };
      return await call(network, relay, { ...wanted, ...limits });
    } catch (error) {
      const why = `${path}: ${await describeReachError(error, network, relay)}`;
      const way = proxy === undefined ? 'the relay' : `the proxy ${proxy} and the relay`;
      throw new HopFailure(why, `Check the logs of ${way}.`);
    }
  }

  async function key(): Promise<string> {
    if (subject.key === undefined) {
      throw new HopFailure(`there is none for ${origin}`, remedies.noKey);
    }
    try {
      const account = await new ApiClient(relay, subject.key, network).getAccount();
      return `that of ${account.name} (${account.plan} plan), from ${subject.keyFrom}`;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new HopFailure(
        `${why} (from ${subject.keyFrom})`,
        refusesKey(error) ? remedies.badKey : 'Try again; the relay answers, but not to this.',
      );
    }
  }

  return [
    { name: 'dns', standsAlone: false, check: dns },
    { name: 'connect', standsAlone: false, check: connect },
    { name: 'tls', standsAlone: false, check: tls },
    { name: 'relay', standsAlone: false, check: health },
    { name: 'key', standsAlone: false, check: key },
  ];
}

/** The version of the relay whose own description this is; `undefined` if it is that of something else. */
function versionOf(description: string): string | undefined {
  try {
    const { info } = JSON.parse(description) as { info?: { title?: unknown; version?: unknown } };
    const isVersion = typeof info?.version === 'string' && /^[\w.+-]{1,40}$/.test(info.version);
    return info?.title === RELAY_TITLE && isVersion ? String(info.version) : undefined;
  } catch {
    return undefined;
  }
}
