/** The door of the relay's tunnels, with what it needs. */
import type { Clock } from '../clock.ts';
import { Door } from '../edge/own/door.ts';
import { passCookieName } from '../edge/own/own-cookies.ts';
import { Gate } from '../gate/gate.ts';
import { KeyRing } from '../gate/pass-keys.ts';
import { Passes } from '../gate/passes.ts';
import type { PasswordHashes } from '../gate/password-hashes.ts';
import { ACCESS_ATTEMPTS_PER_MINUTE } from '../limits.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { Store } from '../store/store.ts';

export interface DoorwayOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly hashes: PasswordHashes;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

export interface Doorway {
  readonly door: Door;
  readonly keys: KeyRing;
}

/** @throws StoreError */
export async function openDoor({ store, clock, hashes, secure, contact }: DoorwayOptions): Promise<Doorway> {
  const keys: KeyRing = new KeyRing({ store, clock, changed: () => passes.forget() });
  const passes = new Passes(() => keys.keys);
  await keys.start();
  const gate = new Gate({
    passes,
    cookieName: (form) => passCookieName(form, secure),
    isGood: () => true,
  });
  const perMinute = ACCESS_ATTEMPTS_PER_MINUTE;
  const attempts = new RateLimiter(clock, { perMinute, burst: perMinute });
  return {
    door: new Door({ gate, passes, hashes, attempts, secure, contact, now: () => clock.now() }),
    keys,
  };
}
