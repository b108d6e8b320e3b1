/** From the relay to a local port, through a tunnel that is opened for the check and closed again. */
import { randomUUID } from 'node:crypto';
import type { Tunnel } from '../../shared/tunnel.ts';
import { systemClock } from '../engine/clock.ts';
import { ControlConnection, type ControlEnd } from '../engine/control/control-connection.ts';
import { call } from '../engine/network/call.ts';
import { sayNetworkError } from '../engine/network/errors.ts';
import { RelayRefusal } from '../engine/relay/errors.ts';
import { parseRelayAddress, type RelayAddress } from '../engine/relay/relay-address.ts';
import { say, type Sayable, saidOf } from '../engine/said/said.ts';
import type { RelayAccess } from './subject.ts';
import { DOCTOR_ANSWER_MAX_BYTES, DOCTOR_HOP_TIMEOUT_MS } from './limits.ts';
import { type Hop, HopFailure, HopSkipped } from './hop.ts';
import { TestTunnel } from './test-tunnel.ts';
import { checkTrunk } from './trunk-hop.ts';

export class TunnelHops {
  readonly #access: () => RelayAccess;
  #opening: Promise<TestTunnel> | undefined;
  #test: TestTunnel | undefined;

  /** @param access asked for once the hops before have shown that there is a key */
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

  async #control(): Promise<Sayable> {
    const access = this.#access();
    try {
      this.#opening = TestTunnel.open(access);
      this.#test = await this.#opening;
    } catch (error) {
      const why = saidOf(error);
      if (!(error instanceof RelayRefusal)) throw new HopFailure(why, say('doctor.upgradeFix'));
      // There may be no test tunnel now, for example after many creates: then only what needs none is checked.
      await this.#controlWithoutTunnel(access);
      return say('doctor.noTestTunnel', { why });
    }
    return say('doctor.testTunnel', { slug: this.#test.tunnel.slug });
  }

  /** A relay that answers that the tunnel does not exist has received the upgrade, with the key. */
  async #controlWithoutTunnel({ relay, key, network }: RelayAccess): Promise<void> {
    const end = await new Promise<ControlEnd>((resolve) => {
      const options = { relay, key, network, tunnelId: randomUUID(), clock: systemClock };
      void new ControlConnection(options, {
        onOpen: () => {},
        onConnection: () => {},
        onDrain: () => {},
        onKnock: () => {},
        onEnd: resolve,
      });
    });
    if (end.kind === 'refused' && end.refusal.status === 404) return;
    const why =
      end.kind === 'refused'
        ? end.refusal.said
        : end.kind === 'lost'
          ? end.why
          : say('doctor.closedWith', { code: end.code });
    throw new HopFailure(say('doctor.control', { why }), say('doctor.upgradeFix'));
  }

  /** A visit through the path address goes to the relay's own host, which is known to work by now. */
  async #data(): Promise<Sayable> {
    const { relay } = this.#access();
    const { tunnel } = this.#testTunnel();
    if (tunnel.urls.path === undefined) throw new HopSkipped(say('doctor.noPaths'));
    await this.#visit(relay, `${new URL(tunnel.urls.path).pathname}/`, say('doctor.upgradeFix'));
    return say('doctor.answered');
  }

  async #address(): Promise<Sayable> {
    const { tunnel } = this.#testTunnel();
    const address = visitorAddress(tunnel);
    const domain = address.hostname.replace(/^[^.]*\./, '');
    const path = tunnel.urls.path?.replace(tunnel.slug, 'NAME');
    const fix =
      path === undefined
        ? say('doctor.addressFix', { domain })
        : say('doctor.addressFixPath', { domain, path });
    await this.#visit(toLoopback(address), '/', fix);
    return say('doctor.leads', { host: address.hostname });
  }

  /** Asked for even where the addresses lead nowhere: it needs none of them. */
  async #trunk(): Promise<Sayable> {
    const { tunnel } = this.#testTunnel();
    return await checkTrunk(this.#access(), tunnel.id);
  }

  async #visit(to: RelayAddress, path: string, fix: Sayable): Promise<void> {
    const { network } = this.#access();
    const { answer } = this.#testTunnel();
    const wanted = { method: 'GET', path, headers: { accept: 'text/plain' }, body: undefined };
    const limits = { maxBytes: DOCTOR_ANSWER_MAX_BYTES, timeoutMs: DOCTOR_HOP_TIMEOUT_MS };
    let got;
    try {
      got = await call(network, to, { ...wanted, ...limits });
    } catch (error) {
      throw new HopFailure(say('doctor.at', { place: to.host, why: sayNetworkError(error) }), fix);
    }
    if (got.text === answer) return;
    const code = got.headers['culvert-error'];
    const { host } = to;
    const { status } = got;
    throw new HopFailure(
      typeof code === 'string'
        ? say('doctor.otherAnswer', { host, status, code: code.replace(/[^\w-]/g, '') })
        : say('doctor.notByTunnel', { host, status }),
      fix,
    );
  }

  #testTunnel(): TestTunnel {
    if (this.#test === undefined) throw new HopSkipped(say('doctor.withoutTunnel'));
    return this.#test;
  }
}

function visitorAddress({ public_url, urls }: Tunnel): RelayAddress {
  if (public_url === urls.path) throw new HopSkipped(say('doctor.pathsOnly'));
  return parseRelayAddress(public_url);
}

/** Browsers take names below localhost for this machine (RFC 6761); not every system does. */
function toLoopback(address: RelayAddress): RelayAddress {
  if (!address.hostname.endsWith('.localhost')) return address;
  if (address.secure) throw new HopSkipped(say('doctor.browsersOnly', { host: address.hostname }));
  return { ...address, hostname: '127.0.0.1' };
}
