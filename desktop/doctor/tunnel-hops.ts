/** From the relay to a local port, through a tunnel that is opened for the check and closed again. */
import { randomUUID } from 'node:crypto';
import type { Tunnel } from '../../shared/tunnel.ts';
import { systemClock } from '../engine/clock.ts';
import { ControlConnection, type ControlEnd } from '../engine/control/control-connection.ts';
import { call } from '../engine/network/call.ts';
import { describeNetworkError } from '../engine/network/errors.ts';
import { RelayRefusal } from '../engine/relay/errors.ts';
import { parseRelayAddress, type RelayAddress } from '../engine/relay/relay-address.ts';
import type { RelayAccess } from './subject.ts';
import { DOCTOR_ANSWER_MAX_BYTES, DOCTOR_HOP_TIMEOUT_MS } from './limits.ts';
import { type Hop, HopFailure, HopSkipped } from './hop.ts';
import { TestTunnel } from './test-tunnel.ts';
import { checkTrunk } from './trunk-hop.ts';

const UPGRADE_FIX =
  'WebSockets do not come through: a proxy on the way or before the relay must pass Upgrade on, with a long timeout.';

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

  async #control(): Promise<string> {
    const access = this.#access();
    try {
      this.#opening = TestTunnel.open(access);
      this.#test = await this.#opening;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof RelayRefusal)) throw new HopFailure(why, UPGRADE_FIX);
      // There may be no test tunnel now, for example after many creates: then only what needs none is checked.
      await this.#controlWithoutTunnel(access);
      return `WebSockets reach the relay; no test tunnel: ${why}`;
    }
    return `a test tunnel is online, ${this.#test.tunnel.slug}`;
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
        ? end.refusal.message
        : end.kind === 'lost'
          ? end.why
          : `closed with ${end.code}`;
    throw new HopFailure(`control connection: ${why}`, UPGRADE_FIX);
  }

  /** A visit through the path address goes to the relay's own host, which is known to work by now. */
  async #data(): Promise<string> {
    const { relay } = this.#access();
    const { tunnel } = this.#testTunnel();
    if (tunnel.urls.path === undefined) throw new HopSkipped('this relay has no path addresses');
    await this.#visit(relay, `${new URL(tunnel.urls.path).pathname}/`, UPGRADE_FIX);
    return 'a request through the tunnel is answered';
  }

  async #address(): Promise<string> {
    const { tunnel } = this.#testTunnel();
    const address = visitorAddress(tunnel);
    const fix =
      `Visitors do not reach this address: a wildcard DNS record must lead *.${address.hostname.replace(/^[^.]*\./, '')} ` +
      'to the relay, with a certificate for it.' +
      (tunnel.urls.path === undefined
        ? ''
        : ` Until then, hand out ${tunnel.urls.path.replace(tunnel.slug, 'NAME')}.`);
    await this.#visit(toLoopback(address), '/', fix);
    return `${address.hostname} leads to the tunnel`;
  }

  /** Asked for even where the addresses lead nowhere: it needs none of them. */
  async #trunk(): Promise<string> {
    const { tunnel } = this.#testTunnel();
    return await checkTrunk(this.#access(), tunnel.id);
  }

  async #visit(to: RelayAddress, path: string, fix: string): Promise<void> {
    const { network } = this.#access();
    const { answer } = this.#testTunnel();
    const wanted = { method: 'GET', path, headers: { accept: 'text/plain' }, body: undefined };
    const limits = { maxBytes: DOCTOR_ANSWER_MAX_BYTES, timeoutMs: DOCTOR_HOP_TIMEOUT_MS };
    let got;
    try {
      got = await call(network, to, { ...wanted, ...limits });
    } catch (error) {
      throw new HopFailure(`${to.host}: ${describeNetworkError(error)}`, fix);
    }
    if (got.text === answer) return;
    const code = got.headers['culvert-error'];
    const what = typeof code === 'string' ? code.replace(/[^\w-]/g, '') : 'not by the tunnel';
    throw new HopFailure(`${to.host} answered with status ${got.status}, ${what}`, fix);
  }

  #testTunnel(): TestTunnel {
    if (this.#test === undefined) throw new HopSkipped('not tried without a test tunnel');
    return this.#test;
  }
}

function visitorAddress({ public_url, urls }: Tunnel): RelayAddress {
  if (public_url === urls.path) throw new HopSkipped('this relay has path addresses only');
  return parseRelayAddress(public_url);
}

/** Browsers take names below localhost for this machine (RFC 6761); not every system does. */
function toLoopback(address: RelayAddress): RelayAddress {
  if (!address.hostname.endsWith('.localhost')) return address;
  if (address.secure) throw new HopSkipped(`${address.hostname} is this machine in browsers only`);
  return { ...address, hostname: '127.0.0.1' };
}
