/**
 * Scripts about the tunnels of a relay, or of two that share a database.
 *
 *     create web 60: 60 left; two find web: 60 left; close web: web closed; deliver: web closed at two
 *
 * A step is `[two] [stranger] ACTION [NAME …]`, for the first relay and account unless it says otherwise; `&` joins
 * simultaneous ones. Times are in seconds.
 */
import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { EndReason, TunnelNews } from '../tunnels/lifecycle.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import type { TunnelService } from '../tunnels/tunnel-service.ts';
import { FakeClock } from './fake-clock.ts';
import { anAccount, aStore, aTunnelService, aWish, CALLER, ofTunnels, storeAnswers } from './fixtures.ts';
import type { TestStore } from './fixtures.ts';

/** What a relay knows of its tunnels. */
export interface Side {
  service: TunnelService;
  registry: TunnelRegistry;
  readonly ended: [slug: string, reason: EndReason][];
  /** slugs of tunnels whose visitors have to be reviewed */
  readonly changed: string[];
}

export class TunnelWorld {
  readonly account = anAccount();
  readonly stranger = anAccount();
  readonly free = anAccount({ plan: 'free', subdomain: 'acme' });
  readonly clock = new FakeClock();
  test!: TestStore;
  readonly sides: Side[] = [];
  /** notifications in transit */
  posted: TunnelNews[] = [];
  readonly #isShared: boolean;
  readonly #knowsAll: boolean;
  readonly #nameHold: number;
  /** wraps the store of each relay */
  readonly #wrap: (store: Store) => Store;
  /** ids by the names in a script */
  readonly #ids = new Map<string, string>();

  /** @returns one relay, or two if they share their database */
  static async start({
    isShared = false,
    knowsAll = false,
    nameHold = 0,
    wrap = (store: Store): Store => store,
  } = {}): Promise<TunnelWorld> {
    const world = new TunnelWorld(isShared, knowsAll, nameHold, wrap);
    world.test = await aStore(world.account, world.stranger, world.free);
    for (let count = isShared ? 2 : 1; count > 0; count -= 1) await world.startSide();
    return world;
  }

  private constructor(isShared: boolean, knowsAll: boolean, nameHold: number, wrap: (store: Store) => Store) {
    this.#isShared = isShared;
    this.#knowsAll = knowsAll;
    this.#nameHold = nameHold;
    this.#wrap = wrap;
  }

  /** @param side simulates a new process of this relay */
  async startSide(side: Partial<Side> = { ended: [], changed: [] }): Promise<Side> {
    const registry = new TunnelRegistry(new Set(['www']));
    const started = Object.assign(side, { registry }) as Side;
    started.service = aTunnelService({
      store: this.#wrap(this.test.store),
      registry,
      clock: this.clock,
      nameHold: this.#nameHold,
      knowsAll: this.#knowsAll,
      tellPeers: this.#isShared ? (news) => this.posted.push(news) : undefined,
      onAccess: ({ slug }) => started.changed.push(slug),
      onEnd: ({ slug }, reason) => started.ended.push([slug, reason]),
    });
    await started.service.start();
    if (!this.sides.includes(started)) this.sides.push(started);
    return started;
  }

  async stop(): Promise<void> {
    for (const { service } of this.sides) await service.stop();
  }

  /** Delivers the notifications in transit. */
  deliver(): void {
    for (const news of this.posted.splice(0))
      for (const { service } of this.sides) service.coordination.hear(news);
  }

  async check(script: string): Promise<void> {
    await checkAsyncScript(script, (step) => this.#play(step));
  }

  async #play(step: string): Promise<string> {
    const results = await Promise.allSettled(step.split(' & ').map((action) => this.#act(action)));
    if (this.#isShared) await storeAnswers();
    const shown = results.map((result) =>
      result.status === 'fulfilled' ? (result.value?.() ?? '') : failureOf(result.reason),
    );
    for (const [index, { ended }] of this.sides.entries())
      for (const [slug, reason] of ended.splice(0))
        shown.push(`${slug} ${reason}${index === 0 ? '' : ' at two'}`);
    return shown.filter(Boolean).toSorted().join(', ');
  }

  /** @returns what shows the outcome afterwards */
  async #act(action: string): Promise<(() => string) | undefined> {
    const words = action.split(' ');
    const [one, two] = this.sides as [Side, Side];
    const side = takeFirst(words, ['two']) === undefined ? one : two;
    const account = this[takeFirst(words, ['stranger', 'free'] as const) ?? 'account'];
    const [verb = '', name = '', ...given] = words;
    const { service, registry } = side;
    const id = this.#ids.get(name) ?? name;
    const [first, second] = given.filter((word) => /^\d+$/.test(word)).map(Number);
    const [idleTtl, wildcard] = ['idle', 'wildcard'].map((word) => given.includes(word)) as [
      boolean,
      boolean,
    ];
    switch (verb) {
      case 'create': {
        const wish = aWish({ name: name === '?' ? '' : name, ttl: first ?? 3600, idleTtl, wildcard });
        const tunnel = await service.create(account, wish);
        this.#ids.set(name, tunnel.id);
        return () => this.#left(tunnel);
      }
      case 'take': {
        const tunnel = registry.byId(id) ?? assert.fail(`no tunnel ${name}`);
        const wish = aWish({ name, localPort: first ?? 3000, ttl: second ?? 3600, idleTtl, wildcard });
        const isTaken = await service.takeOver(tunnel, wish);
        return () => (isTaken ? '' : 'not taken');
      }
      case 'close':
        await service.close(account, id, CALLER);
        break;
      case 'extend': {
        const tunnel = await service.extend(account, id, first, CALLER);
        return () => this.#left(tunnel);
      }
      case 'get': {
        const tunnel = service.get(account, id);
        return () => this.#left(tunnel);
      }
      case 'show': {
        const tunnel = service.get(account, id);
        const { localPort, ttl, idle } = tunnel.terms;
        const age = (this.clock.now() - tunnel.createdAt) / 1000;
        const terms = [`port ${localPort}`, `ttl ${ttl}`, ...(idle ? ['idle'] : []), this.#left(tunnel)];
        return () => [...terms, `${age} old`, `${tunnel.totals.bytesIn} bytes`].toSorted().join(', ');
      }
      case 'traffic':
        (registry.byId(id) ?? assert.fail(`no tunnel ${name}`)).countIn(first ?? 1);
        break;
      case 'find': {
        const tunnel = await service.coordination.find(name);
        return () => (tunnel === undefined ? 'none' : this.#left(tunnel));
      }
      case 'at': {
        const known = service.coordination.byLabel(name);
        const found = known ?? (await service.coordination.findByLabel(name));
        return () => `${found?.slug ?? 'none'}${known === undefined ? ' asked' : ''}`;
      }
      case 'known': {
        const stored = await ofTunnels(this.test.store, 'slug');
        const live = [...registry.all()].map(({ slug }) => slug);
        return () => [live, stored].map((slugs) => slugs.join(' ') || 'none').join(' / ');
      }
      case 'follow':
        if (name === 'all') await service.coordination.followAccount(account);
        else await service.coordination.followTunnel(id);
        break;
      case 'review':
        service.coordination.review();
        break;
      case 'deliver':
        this.deliver();
        break;
      case 'lose':
        this.posted = [];
        break;
      case 'wait':
        await this.pass(Number(name));
        break;
      case 'jump':
        this.clock.jump(Number(name) * 1000);
        break;
      case 'down':
      case 'up':
        this.test.down = verb === 'down';
        break;
      case 'stop':
        await service.stop();
        break;
      case 'start':
        await this.startSide(side);
        break;
      case 'restart':
        await service.stop();
        await this.startSide(side);
        break;
      default:
        assert.ok(verb.startsWith('+'), `unknown step ${action}`);
        this.clock.advance(Math.round(Number(verb) * 1000));
    }
    return undefined;
  }

  /** Lets seconds pass, in steps in which the store can answer. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds * 1000; left > 0; left -= 100) {
      this.clock.advance(Math.min(100, left));
      await storeAnswers();
    }
  }

  #left({ expiresAt }: LiveTunnel): string {
    return `${(expiresAt - this.clock.now()) / 1000} left`;
  }
}

function takeFirst<Word extends string>(words: string[], of: readonly Word[]): Word | undefined {
  const found = of.find((word) => word === words[0]);
  if (found !== undefined) words.shift();
  return found;
}

function failureOf(error: unknown): string {
  if (error instanceof StoreError) return 'store failed';
  const { status, message } = error as { status?: number; message: string };
  return status === undefined ? String(error) : `${status} ${message}`;
}
