/** Checks every step from this machine to a local port, through the relay, and names the hop that fails. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { relayVersionIn } from '../../../shared/value-rules.ts';
import { Deadlines, systemClock } from '../clock.ts';
import { isRawTarget } from '../config/tunnel-spec.ts';
import { isCompressionOn, nearnessOf } from '../compression/compressed-stream.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { isRefusal, LocalFailure, localErrorReason } from '../local/local-error.ts';
import { describeTarget, type LocalTarget } from '../local/local-service.ts';
import { MessageError, messageOf, type MessageValue, toMessage } from '../messages.ts';
import { call, type CallResponse, type Network } from '../network/network.ts';
import {
  describeNetworkError,
  dial,
  isLoopback,
  isLoopbackName,
  LOOPBACK_ADDRESSES,
} from '../network/dial.ts';
import { ApiClient } from '../relay/api-client.ts';
import { describeReachError, describeRedirect, refusesKey } from '../relay/errors.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import { FolderUnreadable, locateFolder } from '../share/shared-folder.ts';
import {
  checkHops,
  connectOnce,
  DIAGNOSTICS_HOP_TIMEOUT_MS,
  DIAGNOSTICS_RESPONSE_MAX_BYTES,
  type Hop,
  HopFailure,
  type HopResult,
  HopSkipped,
  type Subject,
  within,
} from './hop.ts';
import { TunnelHops } from './tunnel-hops.ts';

/**
 * @param tell called with each result as it arrives
 * @returns whether no hop has failed; `false` if it was interrupted
 */
export async function diagnose(
  subject: Subject,
  interrupted: AbortSignal,
  tell: (result: HopResult) => void,
): Promise<boolean> {
  const { relay, network, requireKey } = subject;
  const tunnel = new TunnelHops(() => ({ relay, network, key: requireKey() }));
  try {
    const hops = [
      ...relayHops(subject),
      ...tunnel.hops,
      compressHop(relay, network, subject.local !== undefined && isRawTarget(subject.local)),
      tcpHop(),
      localHop(subject),
    ];
    return await checkHops(hops, () => performance.now(), interrupted, tell);
  } finally {
    await tunnel.close();
  }
}

/**
 * Whether responses are compressed if the tunnel does not decide it, and why.
 *
 * @param raw whether it carries bytes instead of HTTP
 */
export function compressHop(relay: RelayAddress, network: Pick<Network, 'proxyFor'>, raw = false): Hop {
  return {
    name: 'compress',
    standsAlone: false,
    async check() {
      if (raw) throw new HopSkipped(toMessage('doctor.uncompressedRaw'));
      const host = network.proxyFor(relay) === undefined ? await addressOf(relay) : relay.hostname;
      const nearness = nearnessOf(host);
      if (isCompressionOn('auto', nearness)) return toMessage('doctor.compressed', { host });
      const why = nearness === 'loopback' ? 'doctor.uncompressedLoopback' : 'doctor.uncompressedPrivate';
      throw new HopSkipped(toMessage(why, { host }));
    },
  };
}

/**
 * Which congestion control TCP uses on this machine: it decides how fast the local service's responses reach the relay
 * over lines that lose packets.
 *
 * @param path of the system's setting
 */
export function tcpHop(path = '/proc/sys/net/ipv4/tcp_congestion_control'): Hop {
  return {
    name: 'tcp',
    standsAlone: false,
    async check() {
      let name: string;
      try {
        name = (await readFile(path, 'latin1')).trim();
      } catch {
        throw new HopSkipped(toMessage('doctor.tcpUnknown'));
      }
      return toMessage(name.startsWith('bbr') ? 'doctor.tcpFast' : 'doctor.tcpSlow', { name });
    },
  };
}

/** An earlier hop has shown that the name resolves. */
async function addressOf({ hostname }: RelayAddress): Promise<string> {
  if (isLoopback(hostname)) return hostname;
  return (await within(DIAGNOSTICS_HOP_TIMEOUT_MS, lookup(hostname))).address;
}

/** The port or folder behind the tunnel. A port is only connected to, because a request could have effects. */
export function localHop({ local, remedies }: Pick<Subject, 'local' | 'remedies'>): Hop {
  return {
    name: 'local',
    standsAlone: true,
    async check() {
      if (local === undefined) throw new HopSkipped(remedies.noLocal);
      if ('folder' in local) return looksInto(local.folder);
      const error = await connectTo(local);
      const service = describeTarget(local);
      if (error === undefined)
        return toMessage(isRawTarget(local) ? 'doctor.localRaw' : 'doctor.local', { service });
      if (error instanceof LocalFailure)
        throw new HopFailure(toMessage('doctor.notHttp2', { service }), toMessage('doctor.notHttp2Fix'));
      if (!isRefusal(error))
        throw new MessageError(
          toMessage('doctor.at', { place: service, why: localErrorReason(local, error) }),
        );
      throw new HopFailure(
        local.host === 'localhost'
          ? toMessage('doctor.nothingOnBoth', { port: local.port })
          : toMessage('doctor.nothingOn', { service }),
        remedies.local,
      );
    },
  };
}

async function looksInto(folder: string): Promise<MessageValue> {
  try {
    return toMessage('doctor.folder', { folder: await locateFolder(folder) });
  } catch (error) {
    if (!(error instanceof FolderUnreadable)) throw error;
    throw new HopFailure(error.said, toMessage('doctor.folderFix'));
  }
}

/** @returns why it accepts no connection */
function connectTo(target: LocalTarget): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const dialer = new LocalDialer(target, new Deadlines(systemClock));
    dialer.connect({
      connected(local) {
        local.destroy();
        dialer.closeIdle();
        resolve(undefined);
      },
      refused: resolve,
    });
  });
}

/** From this machine to the relay: name, connection, TLS, the relay itself, the key. */
function relayHops(subject: Subject): Hop[] {
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
      throw new HopFailure(await describeReachError(error, network, relay), remedies.certificate);
    }
  }

  async function health(): Promise<MessageValue> {
    const response = await get('/v1/openapi.json');
    const { status, text } = response;
    const redirect = describeRedirect(response, relay);
    if (redirect !== undefined)
      throw new HopFailure(
        toMessage('doctor.at', { place: origin, why: redirect }),
        toMessage('doctor.notRelayFix'),
      );
    const version = status === 200 ? relayVersionIn(text) : undefined;
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
