/** A system around the app's core; a test sees everything that happens to it. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
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
  readonly calls: string[] = [];
  /** what the next calls throw, for as long as it is set */
  failure: Error | undefined;
  #count = 0;

  getAccount(): Promise<typeof ACCOUNT> {
    return this.#answer('account', () => ACCOUNT);
  }

  createTunnel(request: { local_port: number; name?: string }): Promise<Tunnel> {
    return this.#answer(`create ${request.local_port}`, () => {
      this.#count += 1;
      const id = `0b2f4f0e-6a6e-4d53-9d0c-${String(this.#count).padStart(12, '0')}`;
      const slug = request.name ?? `slug-${this.#count}`;
      const tunnel: Tunnel = {
        ...TUNNEL,
        id,
        slug,
        name: request.name ?? '',
        local_port: request.local_port,
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

  #answer<T>(call: string, make: () => T): Promise<T> {
    this.calls.push(call);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(make());
  }
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
    copy: (text) => Promise.resolve(void seen.copied.push(text)),
    open: (url) => Promise.resolve(void seen.opened.push(url)),
    tell: (problem) => void seen.problems.push(problem),
    setTheme: (theme) => void seen.themes.push(theme),
    report: (what, error) => void seen.reports.push(`${what}: ${String(error)}`),
  };
  return { platform, clock, api, serve, seen };
}
