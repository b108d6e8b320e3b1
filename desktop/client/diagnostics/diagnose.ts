/** Checks every step from this machine to a local port, through the relay, and names the hop that fails. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { Deadlines, systemClock } from '../clock.ts';
import { isCompressionOn, nearnessOf } from '../compression/mode.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { describeTarget, type LocalTarget } from '../local/local-service.ts';
import { LocalFailure } from '../local/local-error.ts';
import { toMessage, type MessageValue } from '../messages.ts';
import { isLoopback } from '../network/dial.ts';
import type { Network } from '../network/network.ts';
import { FolderUnreadable, locateFolder } from '../share/shared-folder.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import {
  checkHops,
  DIAGNOSTICS_HOP_TIMEOUT_MS,
  type Hop,
  HopFailure,
  type HopResult,
  HopSkipped,
  type Subject,
  within,
} from './hop.ts';
import { relayHops } from './relay-hops.ts';
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
      compressHop(relay, network),
      tcpHop(),
      localHop(subject),
    ];
    return await checkHops(hops, () => performance.now(), interrupted, tell);
  } finally {
    await tunnel.close();
  }
}

/** Whether responses are compressed if the tunnel does not decide it, and why. */
export function compressHop(relay: RelayAddress, network: Pick<Network, 'proxyFor'>): Hop {
  return {
    name: 'compress',
    standsAlone: false,
    async check() {
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
      if (error === undefined) return toMessage('doctor.local', { service });
      if (error instanceof LocalFailure)
        throw new HopFailure(toMessage('doctor.notHttp2', { service }), toMessage('doctor.notHttp2Fix'));
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
