/** A system around the app's core; a test sees everything that happens to it. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Access, AccessView } from '../../shared/access.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { Knock } from '../../shared/knocks.ts';
import type { Link, NewLink } from '../../shared/links.ts';
import type { LinkRequest } from '../engine/relay/link-response.ts';
import type { RelayApi } from '../main/connection.ts';
import type { Notice } from '../main/notices/notices.ts';
import type { Platform } from '../main/platform.ts';
import type { Encryption } from '../main/session/key-vault.ts';
import { projectLinks } from '../main/system/links.ts';
import type { Serve, ServeOptions } from '../main/tunnels/serve.ts';
import type { TunnelLog } from '../main/tunnels/tunnel-log.ts';
import type { Problem } from '../shared/snapshot.ts';
import { FakeClock } from './fake-clock.ts';
import { ACCOUNT, TUNNEL } from './tunnel.ts';

/** A relay's REST interface in memory. */
export class FakeApi implements RelayApi {
  tunnels: Tunnel[] = [];
  links: Link[] = [];
  knocks: Knock[] = [];
  readonly calls: string[] = [];
  /** who may come in, of each tunnel that was created or changed */
  readonly asked: Access[] = [];
  /** what the next calls throw, for as long as it is set */
  failure: Error | undefined;
  #count = 0;

  getAccount(): Promise<typeof ACCOUNT> {
    return this.#answer('account', () => ACCOUNT);
  }

  createTunnel(request: { local_port: number; name?: string; access?: Access }): Promise<Tunnel> {
    return this.#answer(`create ${request.local_port}`, () => {
      if (request.access !== undefined) this.asked.push(request.access);
      this.#count += 1;
      const id = `0b2f4f0e-6a6e-4d53-9d0c-${String(this.#count).padStart(12, '0')}`;
      const slug = request.name ?? `slug-${this.#count}`;
      const tunnel: Tunnel = {
        ...TUNNEL,
        id,
        slug,
        name: request.name ?? '',
        local_port: request.local_port,
        access: request.access === undefined ? {} : shown(request.access),
        public_url: `http://${slug}.tunnels.test:8080`,
      };
      this.tunnels = [tunnel, ...this.tunnels];
      return tunnel;
    });
  }

  listTunnels(): Promise<Tunnel[]> {
    return this.#answer('list', () => this.tunnels);
  }

  closeTunnel(id: string): Promise<void> {
    return this.#answer(`close ${id.slice(-1)}`, () => {
      this.tunnels = this.tunnels.filter((tunnel) => tunnel.id !== id);
    });
  }

  extendTunnel(id: string, ttl?: string): Promise<Tunnel> {
    return this.#answer(`extend ${id.slice(-1)} ${ttl ?? ''}`, () => {
      const tunnel = this.tunnels.find((other) => other.id === id);
      if (tunnel === undefined) throw new Error('no such tunnel');
      return { ...tunnel, expires_at: '2026-07-10T14:00:00.000Z' };
    });
  }

  setAccess(id: string, access: Access): Promise<Tunnel> {
    const asked = shown(access);
    return this.#answer(`access ${id.slice(-1)}`, () => {
      this.asked.push(access);
      this.tunnels = this.tunnels.map((tunnel) => (tunnel.id === id ? { ...tunnel, access: asked } : tunnel));
      const tunnel = this.tunnels.find((other) => other.id === id);
      if (tunnel === undefined) throw new Error('no such tunnel');
      return tunnel;
    });
  }

  createLink(id: string, { note = '', ttl = '' }: LinkRequest): Promise<NewLink> {
    return this.#answer(`link ${id.slice(-1)} ${note} ${ttl}`, () => {
      const link = {
        id: `link-${this.links.length + 1}`,
        note,
        created_at: '2026-07-10T12:00:00.000Z',
        expires_at: '2026-07-10T13:00:00.000Z',
      };
      this.links = [link, ...this.links];
      return { ...link, url: this.linkUrl(link.id) };
    });
  }

  linkUrl(id: string): string {
    return `http://my-app.tunnels.test:8080/?culvert_pass=${id}`;
  }

  listLinks(id: string): Promise<Link[]> {
    return this.#answer(`links ${id.slice(-1)}`, () => this.links);
  }

  deleteLink(id: string, linkId: string): Promise<void> {
    return this.#answer(`revoke ${id.slice(-1)} ${linkId}`, () => {
      this.links = this.links.filter((link) => link.id !== linkId);
    });
  }

  listKnocks(id: string): Promise<Knock[]> {
    return this.#answer(`knocks ${id.slice(-1)}`, () => this.knocks);
  }

  answerKnock(id: string, knockId: string, admit: boolean, duration?: string): Promise<void> {
    const answer = admit ? `admit ${duration ?? ''}` : 'refuse';
    return this.#answer(`${answer} ${id.slice(-1)} ${knockId}`, () => {});
  }

  #answer<T>(call: string, make: () => T): Promise<T> {
    this.calls.push(call);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(make());
  }
}

/** As the relay shows it. */
function shown({ allow, basic, password, links, knock }: Access): AccessView {
  return {
    ...(allow.length > 0 ? { allow } : {}),
    ...(basic.length > 0 ? { basic: basic.map(({ user }) => user) } : {}),
    ...(password === undefined ? {} : { password: true }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
  };
}

/** A tunnel that is being served; the test is its engine. */
export interface FakeServed extends ServeOptions {
  isStopped: boolean;
  /** `suspend` and `wake`, in order */
  readonly sleep: ('suspend' | 'wake')[];
}

export class FakeServe {
  readonly all: FakeServed[] = [];

  readonly serve: Serve = (options) => {
    const served: FakeServed = { ...options, isStopped: false, sleep: [] };
    this.all.push(served);
    return {
      stop: () => void (served.isStopped = true),
      suspend: () => void served.sleep.push('suspend'),
      wake: () => void served.sleep.push('wake'),
    };
  };

  /** The last one that was started. */
  get last(): FakeServed {
    const served = this.all.at(-1);
    if (served === undefined) throw new Error('nothing is served');
    return served;
  }
}

export function emptyLog(): TunnelLog {
  return {
    recorder: { open: () => ({ toLocal() {}, toVisitor() {}, end() {} }) },
    list: () => [],
    detail: () => undefined,
    curl: () => undefined,
    replay: () => Promise.reject(new Error('nothing to repeat')),
    clear() {},
    subscribe: () => () => {},
  };
}

/** Encryption that one can see through. */
export function fakeEncryption(isReal: boolean): Encryption {
  return {
    isReal: () => Promise.resolve(isReal),
    encrypt: (text) => Promise.resolve(Buffer.from(`sealed ${text}`)),
    decrypt: (bytes) => Promise.resolve(bytes.toString().replace(/^sealed /, '')),
  };
}

/** Everything the core did to the system. */
export interface Seen {
  readonly copied: string[];
  readonly opened: string[];
  readonly notices: Notice[];
  readonly problems: Problem[];
  readonly reports: string[];
  readonly themes: string[];
  readonly autostart: boolean[];
  quits: number;
}

export interface FakeSystem {
  readonly platform: Platform;
  readonly clock: FakeClock;
  readonly api: FakeApi;
  readonly serve: FakeServe;
  readonly seen: Seen;
}

/** @param dataDirectory of an app that ran before; without it, a new one */
export function fakeSystem(
  dataDirectory: string = mkdtempSync(join(tmpdir(), 'culvert-app-')),
  api: FakeApi = new FakeApi(),
): FakeSystem {
  const clock = new FakeClock();
  const serve = new FakeServe();
  const seen: Seen = {
    copied: [],
    opened: [],
    notices: [],
    problems: [],
    reports: [],
    themes: [],
    autostart: [],
    quits: 0,
  };
  const platform: Platform = {
    clock,
    dataDirectory,
    encryption: fakeEncryption(true),
    autostart: { set: (isOn) => Promise.resolve(void seen.autostart.push(isOn)) },
    about: { version: '0.0.0', versions: [], licences: [] },
    links: projectLinks('https://home.test', '0.0.0'),
    connect: () => api,
    serve: serve.serve,
    createLog: emptyLog,
    scanPorts: () => Promise.resolve(undefined),
    hasNetwork: () => true,
    inventPassword: () => 'mild-oak-fern',
    copy: (text) => Promise.resolve(void seen.copied.push(text)),
    open: (url) => Promise.resolve(void seen.opened.push(url)),
    tell: (problem) => void seen.problems.push(problem),
    setTheme: (theme) => void seen.themes.push(theme),
    report: (what, error) => void seen.reports.push(`${what}: ${String(error)}`),
  };
  return { platform, clock, api, serve, seen };
}
