/** From the relay to a local port, through a test tunnel that is closed afterwards. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_ERRORS } from '../../../shared/errors.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { Deadlines, systemClock } from '../clock.ts';
import { ControlConnection, type ControlEnd } from '../control/control-connection.ts';
import type { TunnelSession } from '../control/tunnel-session.ts';
import { DataDialer } from '../data/data-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { MessageError, messageOf, type MessageValue, toMessage } from '../messages.ts';
import { call } from '../network/network.ts';
import { describeNetworkError } from '../network/dial.ts';
import { ApiClient } from '../relay/api-client.ts';
import { readRefusal, RelayRefusal } from '../relay/errors.ts';
import { parseRelayAddress, type RelayAddress } from '../relay/relay-address.ts';
import { createTunnelClient } from '../tunnel-client.ts';
import {
  DIAGNOSTICS_HOP_TIMEOUT_MS,
  DIAGNOSTICS_RESPONSE_MAX_BYTES,
  type Hop,
  HopFailure,
  HopSkipped,
  type RelayAccess,
  within,
} from './hop.ts';

export class TunnelHops {
  readonly #access: () => RelayAccess;
  #opening: Promise<TestTunnel> | undefined;
  #test: TestTunnel | undefined;

  /** @param access called after earlier hops have shown that a key exists */
  constructor(access: () => RelayAccess) {
    this.#access = access;
  }

  readonly hops: readonly Hop[] = [
    { name: 'control', standsAlone: false, check: () => this.#control() },
    { name: 'data', standsAlone: false, check: () => this.#data() },
    { name: 'address', standsAlone: false, check: () => this.#address() },
    { name: 'trunk', standsAlone: true, check: () => this.#trunk() },
  ];

  /** Closes the test tunnel, even one that is still being opened. */
  async close(): Promise<void> {
    const test = await this.#opening?.catch(() => undefined);
    await test?.close();
  }

  async #control(): Promise<MessageValue> {
    const access = this.#access();
    try {
      this.#opening = TestTunnel.open(access);
      this.#test = await this.#opening;
    } catch (error) {
      const why = messageOf(error);
      if (!(error instanceof RelayRefusal)) throw new HopFailure(why, toMessage('doctor.upgradeFix'));
      // A test tunnel may be impossible now, for example after many creates: then only checks without one are made.
      await this.#controlWithoutTunnel(access);
      return toMessage('doctor.noTestTunnel', { why });
    }
    return toMessage('doctor.testTunnel', { slug: this.#test.tunnel.slug });
  }

  /** A relay that answers that the tunnel does not exist has received the upgrade, with the key. */
  async #controlWithoutTunnel({ relay, key, network }: RelayAccess): Promise<void> {
    const end = await new Promise<ControlEnd>((resolve) => {
      const timing = { clock: systemClock, random: Math.random, isBusy: () => false };
      const options = { relay, key, network, tunnelId: randomUUID(), ...timing };
      void new ControlConnection(options, {
        onSilent: () => {},
        onHeard: () => {},
        onOpen: () => {},
        onConnection: () => {},
        onDrain: () => {},
        onKnock: () => {},
        onProblem: () => {},
        onEnd: resolve,
      });
    });
    if (end.kind === 'refused' && end.refusal.status === 404) return;
    const why =
      end.kind === 'refused'
        ? end.refusal.said
        : end.kind === 'lost'
          ? end.why
          : toMessage('doctor.closedWith', { code: end.code });
    throw new HopFailure(toMessage('doctor.control', { why }), toMessage('doctor.upgradeFix'));
  }

  /** Visits the path address, on the relay's own host, which is known to work by now. */
  async #data(): Promise<MessageValue> {
    const { relay } = this.#access();
    const { tunnel } = this.#testTunnel();
    if (tunnel.urls.path === undefined) throw new HopSkipped(toMessage('doctor.noPaths'));
    await this.#visit(relay, `${new URL(tunnel.urls.path).pathname}/`, toMessage('doctor.upgradeFix'));
    return toMessage('doctor.answered');
  }

  async #address(): Promise<MessageValue> {
    const { tunnel } = this.#testTunnel();
    const address = visitorAddress(tunnel);
    const domain = address.hostname.replace(/^[^.]*\./, '');
    const path = tunnel.urls.path?.replace(tunnel.slug, 'NAME');
    const fix =
      path === undefined
        ? toMessage('doctor.addressFix', { domain })
        : toMessage('doctor.addressFixPath', { domain, path });
    await this.#visit(toLoopback(address), '/', fix);
    return toMessage('doctor.leads', { host: address.hostname });
  }

  /** Needs none of the addresses, so it is checked even if they do not work. */
  async #trunk(): Promise<MessageValue> {
    const { tunnel } = this.#testTunnel();
    return await checkTrunk(this.#access(), tunnel.id);
  }

  async #visit(to: RelayAddress, path: string, fix: MessageValue): Promise<void> {
    const { network } = this.#access();
    const { answer } = this.#testTunnel();
    const wanted = { method: 'GET', path, headers: { accept: 'text/plain' }, body: undefined };
    const limits = { maxBytes: DIAGNOSTICS_RESPONSE_MAX_BYTES, timeoutMs: DIAGNOSTICS_HOP_TIMEOUT_MS };
    let got;
    try {
      got = await call(network, to, { ...wanted, ...limits });
    } catch (error) {
      throw new HopFailure(toMessage('doctor.at', { place: to.host, why: describeNetworkError(error) }), fix);
    }
    if (got.text === answer) return;
    const code = got.headers['culvert-error'];
    const { host } = to;
    const { status } = got;
    throw new HopFailure(
      typeof code === 'string'
        ? toMessage('doctor.otherAnswer', { host, status, code: code.replace(/[^\w-]/g, '') })
        : toMessage('doctor.notByTunnel', { host, status }),
      fix,
    );
  }

  #testTunnel(): TestTunnel {
    if (this.#test === undefined) throw new HopSkipped(toMessage('doctor.withoutTunnel'));
    return this.#test;
  }
}

function visitorAddress({ public_url, urls }: Tunnel): RelayAddress {
  if (public_url === urls.path) throw new HopSkipped(toMessage('doctor.pathsOnly'));
  return parseRelayAddress(public_url);
}

/** Browsers resolve names below localhost to this machine (RFC 6761), but not every system does. */
function toLoopback(address: RelayAddress): RelayAddress {
  if (!address.hostname.endsWith('.localhost')) return address;
  if (address.secure) throw new HopSkipped(toMessage('doctor.browsersOnly', { host: address.hostname }));
  return { ...address, hostname: '127.0.0.1' };
}

/*
 * Whether trunks work: a proxy in front of the relay may let only the other WebSockets pass (protocol.md section
 * 10).
 */

/**
 * Opens a trunk and cuts it.
 *
 * @param tunnelId of a tunnel that is online
 * @returns the result, in a few words
 * @throws HopFailure, or HopSkipped if the relay accepts no trunks
 */
export async function checkTrunk(access: RelayAccess, tunnelId: string): Promise<MessageValue> {
  try {
    await openOnce(access, tunnelId);
  } catch (error) {
    const status = error instanceof RelayRefusal ? error.status : undefined;
    // Together with those of the tunnel's client, the relay may have its maximum of trunks.
    if (status !== API_ERRORS.tooManyTrunks.status) {
      if (status === API_ERRORS.notFound.status && (await isRelaysOwn(access)))
        throw new HopSkipped(toMessage('doctor.noTrunks'));
      throw new HopFailure(
        toMessage('doctor.at', { place: '/ws/trunk', why: describeNetworkError(error) }),
        toMessage('doctor.trunkFix'),
      );
    }
  }
  return toMessage('doctor.trunk');
}

function openOnce({ relay, key, network }: RelayAccess, tunnelId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    new DataDialer(relay, network, new Deadlines(systemClock)).openTrunk(tunnelId, key, {
      opened(stream) {
        stream.destroy();
        resolve();
      },
      failed: reject,
    });
  });
}

/** Whether the relay itself answers at that path: it asks for an upgrade, or has no trunks. */
async function isRelaysOwn({ relay, network }: RelayAccess): Promise<boolean> {
  const wanted = { method: 'GET', path: '/ws/trunk', headers: {}, body: undefined };
  const limits = { maxBytes: DIAGNOSTICS_RESPONSE_MAX_BYTES, timeoutMs: DIAGNOSTICS_HOP_TIMEOUT_MS };
  const got = await call(network, relay, { ...wanted, ...limits }).catch(() => undefined);
  return got !== undefined && readRefusal(got.status, got.headers, got.text, systemClock.now()).isOwn;
}

/*
 * A tunnel that lives for a minute and forwards to a builtin service. It checks the whole path without the user's
 * service.
 */

/** When a test tunnel expires that could not be closed. */
const TTL = '1m';

class TestTunnel {
  readonly tunnel: Tunnel;
  /** the response to every request */
  readonly answer: string;
  readonly #api: ApiClient;
  readonly #server: Server;
  readonly #session: TunnelSession;

  private constructor(
    tunnel: Tunnel,
    answer: string,
    api: ApiClient,
    server: Server,
    session: TunnelSession,
  ) {
    this.tunnel = tunnel;
    this.answer = answer;
    this.#api = api;
    this.#server = server;
    this.#session = session;
  }

  /**
   * @returns when the relay has accepted the control connection
   * @throws the errors of {@link ApiClient.createTunnel}, or an Error that says why it is not online in time
   */
  static async open({ relay, key, network }: RelayAccess): Promise<TestTunnel> {
    const answer = randomUUID();
    const server = createServer((_request, response) => response.end(answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const api = new ApiClient(relay, key, network);
    let tunnel: Tunnel;
    try {
      tunnel = await api.createTunnel({ local_port: port, ttl: TTL });
    } catch (error) {
      server.close();
      throw error;
    }
    const online = Promise.withResolvers<void>();
    const session = createTunnelClient({
      relay,
      key,
      network,
      tunnelId: tunnel.id,
      local: localPort(port),
      onProblem: () => {},
      onState(state) {
        if (state.name === 'online') online.resolve();
        if (state.name === 'reconnecting' || state.name === 'offline')
          online.reject(new MessageError(state.why));
      },
    });
    const opened = new TestTunnel(tunnel, answer, api, server, session);
    session.start();
    try {
      await within(DIAGNOSTICS_HOP_TIMEOUT_MS, online.promise);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  /** Closes the tunnel at the relay; if that fails, it ends by itself within a minute. */
  async close(): Promise<void> {
    this.#session.stop();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#api.closeTunnel(this.tunnel.id).catch(() => {});
  }
}
