/** Which of the clients that have registered are still known. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';

/** How long a registration is good. */
export const REGISTRATION_SECONDS = 24 * 3600;
/** Maximum number of clients that are registered with a relay; the oldest that nobody approved is forgotten first. */
export const REGISTRATIONS_MAX = 100;

/** A list of them, of one relay or of several. */
export interface Registrations {
  /** Lists a client that has registered. @returns the list that it is in */
  add(serial: string): string | Promise<string>;
  /** Somebody has approved the client. */
  approve(serial: string): void | Promise<void>;
  /** Whether it was not forgotten. Clients of another list are taken for known. */
  has(list: string, serial: string): boolean | Promise<boolean>;
}

export class RegistrationList implements Registrations {
  readonly #self = randomBytes(9).toString('base64url');
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** by serial number, oldest first */
  readonly #registered = new Map<string, { readonly until: number; isApproved: boolean }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  add(serial: string): string {
    const now = this.#clock.monotonic();
    for (const [old, { until }] of this.#registered) if (until <= now) this.#registered.delete(old);
    if (this.#registered.size >= REGISTRATIONS_MAX) {
      const [oldest = ''] = this.#registered.keys();
      const unused = [...this.#registered].find(([, { isApproved }]) => !isApproved)?.[0];
      this.#registered.delete(unused ?? oldest);
    }
    this.#registered.set(serial, { until: now + REGISTRATION_SECONDS * 1000, isApproved: false });
    return this.#self;
  }

  approve(serial: string): void {
    const registered = this.#registered.get(serial);
    if (registered !== undefined) registered.isApproved = true;
  }

  has(list: string, serial: string): boolean {
    return list !== this.#self || this.#registered.has(serial);
  }
}
