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

/** What one process knows of one count. It is looked up several times for each request, so it is one object. */
interface Shared {
  readonly kind: CountKind;
  readonly name: string;
  limit: number;
  count: number;
  idle: number;
  /** what the others know of this process */
  told: number;
  toldIdle: number;
  others: number;
  othersIdle: number;
}

/** The counts of one process of several. */
export class SharedCounts implements Counts {
  readonly #processes: number;
  readonly #send: (changes: CountChanges) => void;
  readonly #shared = new Map<string, Map<string, Shared>>();
  readonly #listeners = new Map<CountKind, CountListener>();
  readonly #changed = new Set<Shared>();
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
    const shared = this.#made(kind, name);
    shared.limit = limit;
    shared.count = count;
    shared.idle = idle;
    this.#review(shared);
  }

  others(kind: CountKind, name: string): number {
    return this.#find(kind, name)?.others ?? 0;
  }

  othersIdle(kind: CountKind, name: string): number {
    return this.#find(kind, name)?.othersIdle ?? 0;
  }

  displace(kind: CountKind, name: string): boolean {
    const shared = this.#find(kind, name);
    if (shared === undefined || shared.othersIdle === 0) return false;
    shared.others -= 1;
    shared.othersIdle -= 1;
    this.#displaced.push(keyOf(kind, name));
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
    for (const [key, [count, idle]] of counts) {
      const shared = this.#made(...partsOf(key));
      shared.others = count;
      shared.othersIdle = idle;
      this.#review(shared);
    }
    for (const key of spent) this.#tell(key, (listener, name) => listener.spent?.(name));
    for (const key of displaced) this.#tell(key, (listener, name) => listener.giveWay?.(name));
  }

  #tell(key: string, what: (listener: CountListener, name: string) => void): void {
    const [kind, name] = partsOf(key);
    const listener = this.#listeners.get(kind);
    if (listener !== undefined) what(listener, name);
  }

  #find(kind: CountKind, name: string): Shared | undefined {
    return this.#shared.get(kind)?.get(name);
  }

  #made(kind: CountKind, name: string): Shared {
    let ofKind = this.#shared.get(kind);
    if (ofKind === undefined) this.#shared.set(kind, (ofKind = new Map<string, Shared>()));
    let shared = ofKind.get(name);
    if (shared === undefined) {
      shared = {
        kind,
        name,
        limit: 0,
        count: 0,
        idle: 0,
        told: 0,
        toldIdle: 0,
        others: 0,
        othersIdle: 0,
      };
      ofKind.set(name, shared);
    }
    return shared;
  }

  /** Tells the others what they have to know by now. */
  #review(shared: Shared): void {
    const { count, idle, told, toldIdle, limit, others } = shared;
    const change = Math.max(Math.abs(count - told), Math.abs(idle - toldIdle));
    if (change === 0) return this.#forgetUnused(shared);
    // Names that are no longer counted are forgotten everywhere.
    if (count > 0 && change * KEPT_SHARE * this.#processes <= limit - count - others) return;
    this.#changed.add(shared);
    this.#sendSoon();
  }

  #forgetUnused(shared: Shared): void {
    const { kind, name, count, idle, others } = shared;
    if (count === 0 && idle === 0 && others === 0 && !this.#changed.has(shared))
      this.#shared.get(kind)?.delete(name);
  }

  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      const changed = [...this.#changed];
      this.#changed.clear();
      const counts = changed.map((shared) => {
        const { kind, name, count, idle } = shared;
        shared.told = count;
        shared.toldIdle = idle;
        this.#forgetUnused(shared);
        return [keyOf(kind, name), [count, idle]] as const;
      });
      this.#send({ counts, spent: this.#spent, displaced: this.#displaced });
      this.#spent = [];
      this.#displaced = [];
    });
  }
}

function keyOf(kind: CountKind, name: string): string {
  return `${kind} ${name}`;
}

function partsOf(key: string): [kind: CountKind, name: string] {
  const space = key.indexOf(' ');
  return [key.slice(0, space) as CountKind, key.slice(space + 1)];
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
