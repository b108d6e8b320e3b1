/** The app's core on a fake system and relay, called as the window calls it. */
import assert from 'node:assert/strict';
import type { CreateForm } from '../app/ipc/ipc.ts';
import { type Core, createCore } from '../app/main/core.ts';
import { CallFailure } from '../app/main/failure.ts';
import { CHANNELS, type Channels } from '../app/main/handlers/channels.ts';
import { fakeSystem, type FakeSystem } from './fake-platform.ts';

export const KEY = `cvt_${'k'.repeat(32)}`;
export const FORM: CreateForm = {
  port: 3000,
  name: '',
  ttl: '',
  idle: false,
  hostHeader: 'keep',
  lock: { kind: 'anyone' },
};
export const SIGN_IN = { relay: 'relay.example.com', key: KEY, keep: 'system' } as const;

export interface App extends FakeSystem {
  core: Core;
  readonly call: <C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ) => Promise<Channels[C]['result']>;
}

export async function start(system: FakeSystem = fakeSystem()): Promise<App> {
  const core = await createCore(system.platform);
  core.notices.listen((notice) => system.seen.notices.push(notice));
  core.quitRequested.listen(() => (system.seen.quits += 1));
  await core.start();
  return {
    ...system,
    core,
    call: async (channel, payload) => CHANNELS[channel].run(payload, core.sessionFor(payload)),
  };
}

export async function signedIn(system?: FakeSystem): Promise<App> {
  const app = await start(system);
  await app.call('session:sign-in', SIGN_IN);
  return app;
}

/** The same app after a restart: the relay still knows everything, the process nothing. */
export function again({ platform, api }: App): FakeSystem {
  return fakeSystem(platform.dataDirectory, api);
}

/** For `assert.rejects`: main's own failure with that code. */
export const failsWith = (code: string) => (error: unknown) => {
  assert.ok(error instanceof CallFailure, String(error));
  assert.equal(error.error.code, code);
  return true;
};

/** Waits until the condition has a value; files are written in between. */
export async function until<T>(condition: () => T | undefined): Promise<T> {
  for (;;) {
    const value = condition();
    if (value !== undefined) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
