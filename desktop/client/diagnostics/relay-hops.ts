/** From this machine to the relay: name, connection, TLS, the relay itself, the key. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RELAY_TITLE } from '../../../shared/constraints.ts';
import { messageOf, toMessage, type MessageValue } from '../messages.ts';
import { call, type CallResponse } from '../network/call.ts';
import { dial, isLoopbackName, LOOPBACK_ADDRESSES, describeNetworkError } from '../network/dial.ts';
import { ApiClient } from '../relay/api-client.ts';
import { refusesKey, describeReachError } from '../relay/errors.ts';
import {
  connectOnce,
  DIAGNOSTICS_RESPONSE_MAX_BYTES,
  DIAGNOSTICS_HOP_TIMEOUT_MS,
  type Hop,
  HopFailure,
  HopSkipped,
  type Subject,
  within,
} from './hop.ts';

export function relayHops(subject: Subject): Hop[] {
  const { relay, network, remedies } = subject;
  const proxy = network.proxyFor(relay);
  const { hostname, port, secure, origin } = relay;

  async function dns(): Promise<MessageValue> {
    if (isIP(hostname) !== 0) throw new HopSkipped(toMessage('doctor.isAddress', { host: hostname }));
    if (proxy !== undefined)
      throw new HopSkipped(toMessage('doctor.proxyLooksUp', { host: hostname, proxy }));
    try {
      const addresses = isLoopbackName(hostname)
        ? LOOPBACK_ADDRESSES
        : (await within(DIAGNOSTICS_HOP_TIMEOUT_MS, lookup(hostname, { all: true }))).map(
            ({ address }) => address,
          );
      return toMessage('doctor.addresses', { host: hostname, addresses: addresses.join(', ') });
    } catch (error) {
      throw new HopFailure(
        toMessage('doctor.at', { place: hostname, why: describeNetworkError(error) }),
        toMessage('doctor.dnsFix', { source: subject.relayFrom }),
      );
    }
  }

  async function connect(): Promise<MessageValue> {
    if (proxy !== undefined) throw new HopSkipped(toMessage('doctor.overProxy', { proxy }));
    try {
      const dialed = { host: hostname, port };
      await within(
        DIAGNOSTICS_HOP_TIMEOUT_MS,
        connectOnce((handler) => dial(dialed, handler)),
      );
      return toMessage('doctor.portOpen', { port });
    } catch (error) {
      throw new HopFailure(
        toMessage('doctor.portOf', { port, host: hostname, why: describeNetworkError(error) }),
        toMessage('doctor.connectFix'),
      );
    }
  }

  async function tls(): Promise<MessageValue> {
    if (!secure) throw new HopSkipped(toMessage('doctor.notEncrypted', { origin }));
    try {
      await within(
        DIAGNOSTICS_HOP_TIMEOUT_MS,
        connectOnce((handler) => network.connect(relay, {}, handler)),
      );
      return toMessage('doctor.certificate', { host: hostname });
    } catch (error) {
      throw new HopFailure(describeNetworkError(error), remedies.certificate);
    }
  }

  async function health(): Promise<MessageValue> {
    const { status, text } = await get('/v1/openapi.json');
    const version = status === 200 ? versionOf(text) : undefined;
    if (version === undefined) {
      throw new HopFailure(toMessage('doctor.notRelay', { origin, status }), toMessage('doctor.notRelayFix'));
    }
    if ((await get('/readyz')).status !== 200) {
      throw new HopFailure(toMessage('doctor.notReady'), toMessage('doctor.notReadyFix'));
    }
    return toMessage('doctor.relay', { origin, version });
  }

  async function get(path: string): Promise<CallResponse> {
    try {
      const wanted = { method: 'GET', path, headers: {}, body: undefined };
      const limits = { maxBytes: DIAGNOSTICS_RESPONSE_MAX_BYTES, timeoutMs: DIAGNOSTICS_HOP_TIMEOUT_MS };
      return await call(network, relay, { ...wanted, ...limits });
    } catch (error) {
      const why = toMessage('doctor.at', {
        place: path,
        why: await describeReachError(error, network, relay),
      });
      throw new HopFailure(
        why,
        proxy === undefined ? toMessage('doctor.relayLogs') : toMessage('doctor.proxyLogs', { proxy }),
      );
    }
  }

  async function key(): Promise<MessageValue> {
    if (subject.key === undefined) {
      throw new HopFailure(toMessage('doctor.noKey', { origin }), remedies.noKey);
    }
    try {
      const account = await new ApiClient(relay, subject.key, network).getAccount();
      const { name, plan } = account;
      return toMessage('doctor.key', { account: name, plan, source: subject.keyFrom });
    } catch (error) {
      throw new HopFailure(
        toMessage('doctor.badKey', { why: messageOf(error), source: subject.keyFrom }),
        refusesKey(error) ? remedies.badKey : toMessage('doctor.keyFix'),
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

/** The relay's version, read from its API description; `undefined` if the description is of something else. */
function versionOf(description: string): string | undefined {
  try {
    const { info } = JSON.parse(description) as { info?: { title?: unknown; version?: unknown } };
    const isVersion = typeof info?.version === 'string' && /^[\w.+-]{1,40}$/.test(info.version);
    return info?.title === RELAY_TITLE && isVersion ? String(info.version) : undefined;
  } catch {
    return undefined;
  }
}
