/** From this machine to the relay: name, connection, TLS, the relay itself, the key. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RELAY_TITLE } from '../../../shared/constraints.ts';
import { saidOf, say, type Sayable } from '../messages.ts';
import { call, type CallResponse } from '../network/call.ts';
import { dial, isLoopbackName, LOOPBACK_ADDRESSES, sayNetworkError } from '../network/dial.ts';
import { ApiClient } from '../relay/api-client.ts';
import { refusesKey, sayReachError } from '../relay/errors.ts';
import {
  connectOnce,
  DOCTOR_ANSWER_MAX_BYTES,
  DOCTOR_HOP_TIMEOUT_MS,
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

  async function dns(): Promise<Sayable> {
    if (isIP(hostname) !== 0) throw new HopSkipped(say('doctor.isAddress', { host: hostname }));
    if (proxy !== undefined) throw new HopSkipped(say('doctor.proxyLooksUp', { host: hostname, proxy }));
    try {
      const addresses = isLoopbackName(hostname)
        ? LOOPBACK_ADDRESSES
        : (await within(DOCTOR_HOP_TIMEOUT_MS, lookup(hostname, { all: true }))).map(
            ({ address }) => address,
          );
      return say('doctor.addresses', { host: hostname, addresses: addresses.join(', ') });
    } catch (error) {
      throw new HopFailure(
        say('doctor.at', { place: hostname, why: sayNetworkError(error) }),
        say('doctor.dnsFix', { source: subject.relayFrom }),
      );
    }
  }

  async function connect(): Promise<Sayable> {
    if (proxy !== undefined) throw new HopSkipped(say('doctor.overProxy', { proxy }));
    try {
      const dialed = { host: hostname, port };
      await within(
        DOCTOR_HOP_TIMEOUT_MS,
        connectOnce((handler) => dial(dialed, handler)),
      );
      return say('doctor.portOpen', { port });
    } catch (error) {
      throw new HopFailure(
        say('doctor.portOf', { port, host: hostname, why: sayNetworkError(error) }),
        say('doctor.connectFix'),
      );
    }
  }

  async function tls(): Promise<Sayable> {
    if (!secure) throw new HopSkipped(say('doctor.notEncrypted', { origin }));
    try {
      await within(
        DOCTOR_HOP_TIMEOUT_MS,
        connectOnce((handler) => network.connect(relay, {}, handler)),
      );
      return say('doctor.certificate', { host: hostname });
    } catch (error) {
      throw new HopFailure(sayNetworkError(error), remedies.certificate);
    }
  }

  async function health(): Promise<Sayable> {
    const { status, text } = await get('/v1/openapi.json');
    const version = status === 200 ? versionOf(text) : undefined;
    if (version === undefined) {
      throw new HopFailure(say('doctor.notRelay', { origin, status }), say('doctor.notRelayFix'));
    }
    if ((await get('/readyz')).status !== 200) {
      throw new HopFailure(say('doctor.notReady'), say('doctor.notReadyFix'));
    }
    return say('doctor.relay', { origin, version });
  }

  async function get(path: string): Promise<CallResponse> {
    try {
      const wanted = { method: 'GET', path, headers: {}, body: undefined };
      const limits = { maxBytes: DOCTOR_ANSWER_MAX_BYTES, timeoutMs: DOCTOR_HOP_TIMEOUT_MS };
      return await call(network, relay, { ...wanted, ...limits });
    } catch (error) {
      const why = say('doctor.at', { place: path, why: await sayReachError(error, network, relay) });
      throw new HopFailure(
        why,
        proxy === undefined ? say('doctor.relayLogs') : say('doctor.proxyLogs', { proxy }),
      );
    }
  }

  async function key(): Promise<Sayable> {
    if (subject.key === undefined) {
      throw new HopFailure(say('doctor.noKey', { origin }), remedies.noKey);
    }
    try {
      const account = await new ApiClient(relay, subject.key, network).getAccount();
      const { name, plan } = account;
      return say('doctor.key', { account: name, plan, source: subject.keyFrom });
    } catch (error) {
      throw new HopFailure(
        say('doctor.badKey', { why: saidOf(error), source: subject.keyFrom }),
        refusesKey(error) ? remedies.badKey : say('doctor.keyFix'),
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
