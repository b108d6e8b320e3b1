/** Scripts of the app's core on a fake system and relay; see `shared/testing/script.ts`. */
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { Snapshot } from '../app/ipc/snapshot.ts';
import type { TunnelAccess, TunnelAccessView } from '../app/ipc/tunnel-views.ts';
import { CallFailure } from '../app/main/failure.ts';
import { RelayUnreachable } from '../client/relay/errors.ts';
import { again, type App, FORM, SIGN_IN, signedIn, start, until } from './core-app.ts';
import { POLL_HIDDEN_MS, POLL_VISIBLE_MS } from '../app/main/core.ts';

export const PASSWORD = { kind: 'password', password: 'brisk-plum-tide' } as const;
const LOCKS: Readonly<Record<string, TunnelAccess>> = {
  password: PASSWORD,
  tokens: { kind: 'tokens', name: 'ci' },
  links: { kind: 'links' },
  knock: { kind: 'knock' },
  anyone: { kind: 'anyone' },
};

/**
 * Plays a script on the app, which is signed in by default. What happens in a step is what it fails with, calls of the
 * relay, tunnels served and stopped, what the window shows differently, notices, and what is copied and opened.
 *
 * @returns the app, another one after `restart`
 */
export async function checkApp(script: string, on: App | Promise<App> = signedIn()): Promise<App> {
  const world = new World(await on);
  await checkAsyncScript(script, (step) => world.play(step));
  return world.app;
}

/** A step is a word of these and others. `slug` is that of a tunnel; without it, the step is about the newest one. */
const STEPS: Readonly<Record<string, (world: World, first?: string, second?: string) => unknown>> = {
  'sign-in': ({ app }) => app.call('session:sign-in', SIGN_IN),
  'sign-out': ({ app }) => app.call('session:sign-out', {}),
  create: ({ app }, name = '', lock = 'anyone') =>
    app.call('tunnel:create', { ...FORM, name, lock: LOCKS[lock] ?? FORM.lock }),
  start: (world, slug) => world.app.call('tunnel:start', world.ref(slug)),
  stop: (world, slug) => world.app.call('tunnel:stop', world.ref(slug)),
  forget: (world, slug) => world.app.call('tunnel:forget', world.ref(slug)),
  copy: (world, slug) => world.app.call('tunnel:copy-url', world.ref(slug)),
  share: (world, slug) => world.app.call('tunnel:copy-share', world.ref(slug)),
  open: (world, slug) => world.app.call('tunnel:open-url', world.ref(slug)),
  lock: (world, kind = '') => world.app.call('lock:set', { ...world.ref(), lock: LOCKS[kind] ?? FORM.lock }),
  token: (world, act = '', name = '') => {
    const channel = `token:${act}` as 'token:create' | 'token:copy' | 'token:revoke';
    return world.app.call(channel, { ...world.ref(), name });
  },
  admit: (world, id = '') => world.app.call('knock:admit', { ...world.ref(), id, ttl: '8h' }),
  refuse: (world, id = '') => world.app.call('knock:refuse', { ...world.ref(), id }),
  /** Undoes what was done last, or what that one was at first. */
  undo: ({ app }, at = '-1') =>
    app.call('undo:take', { id: app.core.snapshots.make().undos.at(Number(at))?.id ?? '' }),
  commit: ({ app }) => app.core.undos.commitAll(),
  refresh: ({ app }) => app.core.chosen.tunnelList.refresh(),
  try: ({ app }) => app.call('relay:try', undefined),
  suspend: ({ app }) => app.core.suspend(),
  wake: ({ app }) => app.core.wake(),
  gone: ({ app }) => (app.api.failure = new RelayUnreachable('gone')),
  back: ({ app }) => (app.api.failure = undefined),
  restart: (world) => world.restart(),
  /* The client reports this about the tunnels that it serves. */
  connecting: ({ app }) => app.serve.all.forEach(({ onState }) => onState({ name: 'connecting' })),
  online: ({ app }) => app.serve.all.forEach(({ onState }) => onState({ name: 'online' })),
  lost: ({ app }) =>
    app.serve.all.forEach(({ onState }) =>
      onState({ name: 'reconnecting', attempt: 1, retryInMs: 500, why: 'Lost.' }),
    ),
  offline: ({ app }, reason = '') =>
    app.serve.all.forEach(({ onState }) =>
      onState({ name: 'offline', reason: reason as 'expired', why: 'It has ended.' }),
    ),
  knock: ({ app }, id = '') => app.serve.knock(id),
  poll: ({ app }) => poll(app),
  /** Waits for a call of the relay. */
  until: ({ app }, verb = '', id = '') => until(() => app.api.calls.includes(`${verb} ${id}`) || undefined),
};

/** Asks the relay again while the window is visible, until that is done. */
export async function poll({ api, clock }: App): Promise<void> {
  const asked = api.calls.length;
  clock.advance(POLL_VISIBLE_MS);
  await until(() => (api.calls.length > asked && clock.waiting.includes(POLL_VISIBLE_MS)) || undefined);
}

class World {
  app: App;
  /** the key of each tunnel that has been shown, by slug */
  readonly #keys = new Map<string, string>();
  #did: readonly string[] = [];
  #shown: ReadonlyMap<string, string> = new Map();

  constructor(app: App) {
    this.app = app;
    this.#happened();
  }

  async play(step: string): Promise<string> {
    const [verb = '', first, second] = step.split(' ');
    const failure: string[] = [];
    try {
      if (verb.startsWith('+')) this.app.clock.advance(Number(verb));
      else await STEPS[verb]?.(this, first, second);
    } catch (error) {
      failure.push(`fails ${error instanceof CallFailure ? error.error.code : (error as Error).name}`);
    }
    await new Promise((resolve) => setImmediate(resolve));
    return [...failure, ...this.#happened()].join(', ');
  }

  ref(slug = ''): { key: string } {
    return { key: this.#keys.get(slug) ?? [...this.#keys.values()].at(-1) ?? '' };
  }

  async restart(): Promise<void> {
    const system = again(this.app);
    this.#did = [...system.api.calls];
    this.app = await start(system);
    // By then it has asked the relay.
    await until(() => this.app.clock.waiting.includes(POLL_HIDDEN_MS) || undefined);
    this.#did = system.api.calls.slice(0, this.#did.length).filter(isShown);
  }

  /** @returns what is new since the last time */
  #happened(): string[] {
    const { core, api, serve, seen } = this.app;
    const snapshot = core.snapshots.make();
    for (const { slug, key } of [...snapshot.others, ...snapshot.tunnels]) this.#keys.set(slug, key);
    const did = [
      ...api.calls.filter(isShown),
      ...serve.all.map(({ tunnelId }) => `serve ${tunnelId.slice(-1)}`),
      ...serve.all.flatMap(({ isStopped, sleep }) => [...sleep, ...(isStopped ? ['stop'] : [])]),
      ...seen.notices.map(({ title }) => `notice ${title}`),
      ...seen.copied.map((text) => `copied ${text}`),
      ...seen.opened.map((url) => `opened ${url}`),
    ];
    const shown = shownIn(snapshot);
    const changes = [...shown].flatMap(([key, text]) => (this.#shown.get(key) === text ? [] : [text]));
    const gone = [...this.#shown]
      .filter(([key]) => !shown.has(key))
      .map(([, text]) => `no ${text.startsWith('undo ') ? 'undo' : text}`);
    const news = newIn(did, this.#did);
    [this.#did, this.#shown] = [did, shown];
    return [...news, ...gone, ...changes];
  }
}

const isShown = (call: string): boolean => !['list', 'account'].includes(call);

/** What is in a list more often than it was. */
function newIn(list: readonly string[], before: readonly string[]): string[] {
  const rest = [...before];
  return list.filter((entry) => {
    const at = rest.indexOf(entry);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

/** Each thing that the window shows, by its key. */
function shownIn({ session, tunnels, others, undos }: Snapshot): Map<string, string> {
  const problem = 'problem' in session ? (session.problem?.code ?? '') : '';
  return new Map([
    ['session', [session.state, problem].filter(Boolean).join(' ')],
    ...tunnels.map(({ key, slug, status, lock, tokens, knocks }): [string, string] => {
      const marks = tokens.map(({ name, canCopy }) => (canCopy ? `${name}*` : name));
      return [key, [slug, status.name, ...lockText(lock), ...marks, ...knocks.map(({ id }) => id)].join(' ')];
    }),
    ...others.map(({ key, slug, isOnline, log, isStopping }): [string, string] => {
      const marks = [
        isOnline ? 'online' : 'offline',
        ...(log === undefined ? [] : ['here']),
        ...(isStopping ? ['stopping'] : []),
      ];
      return [`other ${key}`, `other ${slug} ${marks.join(' ')}`];
    }),
    ...undos.map(({ id, text }): [string, string] => [id, `undo ${text}`]),
  ]);
}

function lockText(lock: TunnelAccessView): string[] {
  if (lock.kind === 'anyone') return [];
  return 'password' in lock ? [lock.kind, lock.password ?? '?'] : [lock.kind];
}
