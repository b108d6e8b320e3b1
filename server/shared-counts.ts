/**
 * What the processes of one relay count together: connections, those of an address, of a plan. Each process counts its
 * own and knows the sum of the others', as of a moment ago. The further a sum is from its limit, the more may change in a
 * process before it tells the others, so that a request usually costs no message. A relay of one process knows all itself.
 */

/** What is counted. */
export type CountKind =
  'slots' | 'account' | 'address' | 'stream' | 'plan' | 'request' | 'http' | 'dns' | 'dns-udp' | 'dns-tcp';

/** What the other processes ask of this one. */
export interface CountListener {
  /** One of this process should give way, if it is idle. */
  giveWay?(name: string): unknown;
  /** Another process has spent one. */
  spent?(name: string): void;
}

export interface Counts {
  /**
   * This process has so many, some of which are idle.
   *
   * @param limit of all processes together
   */
  set(kind: CountKind, name: string, limit: number, count: number, idle?: number): void;
  /** How many the other processes have together. */
  others(kind: CountKind, name: string): number;
  /** How many of these are idle. */
  othersIdle(kind: CountKind, name: string): number;
  /**
   * Asks another process to let an idle one go, which no longer counts from now on.
   *
   * @returns false if there is none
   */
  displace(kind: CountKind, name: string): boolean;
  /** This process has spent one. */
  spend(kind: CountKind, name: string): void;
  listen(kind: CountKind, listener: CountListener): void;
}

/** There are no other processes. */
export const NO_COUNTS: Counts = {
  set() {},
  others: () => 0,
  othersIdle: () => 0,
  displace: () => false,
  spend() {},
  listen() {},
};

/** A count, and how many of it are idle. */
export type Count = readonly [count: number, idle: number];

/** What changed since the last message. */
export interface CountChanges {
  /** by kind and name; of one process, or of all others together */
  readonly counts: readonly (readonly [key: string, count: Count])[];
  /** keys of which one was spent */
  readonly spent: readonly string[];
  /** keys of which an idle one should give way */
  readonly displaced: readonly string[];
}

const NONE: Count = [0, 0];
/** What is left up to a limit is divided by this and the processes: a process may keep so much to itself. */
const KEPT_SHARE = 4;

/** The counts of one process of several. */
export class SharedCounts implements Counts {
  readonly #processes: number;
  readonly #send: (changes: CountChanges) => void;
  readonly #own = new Map<string, readonly [...Count, limit: number]>();
  /** what the others know of this process */
  readonly #told = new Map<string, Count>();
  readonly #others = new Map<string, Count>();
  readonly #listeners = new Map<string, CountListener>();
  readonly #changed = new Set<string>();
  #spent: string[] = [];
  #displaced: string[] = [];
  #isDue = false;

  /**
   * @param processes how many there are
   * @param send called once in a turn of the event loop in which there is something to tell
   */
  constructor(processes: number, send: (changes: CountChanges) => void) {
    this.#processes = processes;
    this.#send = send;
  }

  set(kind: CountKind, name: string, limit: number, count: number, idle = 0): void {
    const key = keyOf(kind, name);
    if (count === 0) this.#own.delete(key);
    else this.#own.set(key, [count, idle, limit]);
    this.#review(key);
  }

  others(kind: CountKind, name: string): number {
    return this.#others.get(keyOf(kind, name))?.[0] ?? 0;
  }

  othersIdle(kind: CountKind, name: string): number {
    return this.#others.get(keyOf(kind, name))?.[1] ?? 0;
  }

  displace(kind: CountKind, name: string): boolean {
    const key = keyOf(kind, name);
    const [count, idle] = this.#others.get(key) ?? NONE;
    if (idle === 0) return false;
    this.#others.set(key, [count - 1, idle - 1]);
    this.#displaced.push(key);
    this.#sendSoon();
    return true;
  }

  spend(kind: CountKind, name: string): void {
    this.#spent.push(keyOf(kind, name));
    this.#sendSoon();
  }

  listen(kind: CountKind, listener: CountListener): void {
    this.#listeners.set(kind, listener);
  }

  /** The other processes have changed. */
  hear({ counts, spent, displaced }: CountChanges): void {
    for (const [key, count] of counts) {
      if (count[0] === 0) this.#others.delete(key);
      else this.#others.set(key, count);
      this.#review(key);
    }
    for (const key of spent) this.#listenerOf(key)?.spent?.(nameOf(key));
    for (const key of displaced) this.#listenerOf(key)?.giveWay?.(nameOf(key));
  }

  #listenerOf(key: string): CountListener | undefined {
    return this.#listeners.get(key.slice(0, key.indexOf(' ')));
  }

  /** Tells the others what they have to know by now. */
  #review(key: string): void {
    const [count, idle, limit] = this.#own.get(key) ?? [...NONE, 0];
    const [told, toldIdle] = this.#told.get(key) ?? NONE;
    const change = Math.max(Math.abs(count - told), Math.abs(idle - toldIdle));
    const left = limit - count - (this.#others.get(key)?.[0] ?? 0);
    // Names that are no longer counted are forgotten everywhere.
    if (change === 0 || (count > 0 && change * KEPT_SHARE * this.#processes <= left)) return;
    this.#changed.add(key);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      const counts = [...this.#changed].map((key) => {
        const [count, idle] = this.#own.get(key) ?? NONE;
        if (count === 0) this.#told.delete(key);
        else this.#told.set(key, [count, idle]);
        return [key, [count, idle]] as const;
      });
      this.#send({ counts, spent: this.#spent, displaced: this.#displaced });
      this.#changed.clear();
      this.#spent = [];
      this.#displaced = [];
    });
  }
}

function keyOf(kind: CountKind, name: string): string {
  return `${kind} ${name}`;
}

function nameOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}

/** The first process's side: adds up what the others count. */
export class CountSums<Process> {
  readonly #tell: (process: Process, changes: CountChanges) => void;
  /** what each process counts */
  readonly #counts = new Map<Process, Map<string, Count>>();

  constructor(tell: (process: Process, changes: CountChanges) => void) {
    this.#tell = tell;
  }

  /** Adds a process, which is told what the others count. */
  add(process: Process): void {
    this.#counts.set(process, new Map());
    const keys = new Set([...this.#counts.values()].flatMap((counts) => [...counts.keys()]));
    this.#tellOthersOf([...keys], process);
  }

  /** A process has ended, and no longer counts anything. */
  remove(process: Process): void {
    const keys = [...(this.#counts.get(process)?.keys() ?? [])];
    this.#counts.delete(process);
    for (const other of this.#counts.keys()) this.#tellOthersOf(keys, other);
  }

  hear(process: Process, { counts, spent, displaced }: CountChanges): void {
    const own = this.#counts.get(process);
    if (own === undefined) return;
    for (const [key, count] of counts) {
      if (count[0] === 0) own.delete(key);
      else own.set(key, count);
    }
    const keys = counts.map(([key]) => key);
    const chosen = this.#choose(process, displaced);
    for (const other of this.#counts.keys())
      if (other !== process) this.#tellOthersOf(keys, other, spent, chosen.get(other));
  }

  /** Those with most idle ones give way first. */
  #choose(process: Process, displaced: readonly string[]): Map<Process, string[]> {
    const chosen = new Map<Process, string[]>();
    for (const key of displaced) {
      const able = [...this.#counts].filter(
        ([other, counts]) => other !== process && (counts.get(key)?.[1] ?? 0) > 0,
      );
      const [first] = able.toSorted(([, a], [, b]) => (b.get(key)?.[1] ?? 0) - (a.get(key)?.[1] ?? 0));
      if (first === undefined) continue;
      const [other, counts] = first;
      const [count, idle] = counts.get(key) ?? NONE;
      counts.set(key, [count, idle - 1]);
      chosen.set(other, [...(chosen.get(other) ?? []), key]);
    }
    return chosen;
  }

  #tellOthersOf(
    keys: readonly string[],
    process: Process,
    spent: readonly string[] = [],
    displaced: readonly string[] = [],
  ): void {
    if (keys.length === 0 && spent.length === 0 && displaced.length === 0) return;
    const counts = keys.map((key) => [key, this.#sum(key, process)] as const);
    this.#tell(process, { counts, spent, displaced });
  }

  #sum(key: string, except: Process): Count {
    let [count, idle] = NONE as [number, number];
    for (const [process, counts] of this.#counts) {
      if (process === except) continue;
      const [more, moreIdle] = counts.get(key) ?? NONE;
      count += more;
      idle += moreIdle;
    }
    return [count, idle];
  }
}
