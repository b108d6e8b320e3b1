/**
 * A cache with a capacity shared by tenants: when it is full, the tenant with the most entries loses its oldest one.
 * So a tenant that fills the cache evicts its own entries, at no cost to the others.
 */

interface Entry<V> {
  readonly tenant: string;
  readonly value: V;
}

export class TenantCache<V> {
  readonly #max: number;
  readonly #entries = new Map<string, Entry<V>>();
  /** keys of each tenant, oldest first */
  readonly #keys = new Map<string, Set<string>>();
  /** tenants by number of entries, so that the largest one is found immediately */
  readonly #tenants = new Map<number, Set<string>>();
  /** number of entries of the largest one */
  #most = 0;

  /** @param max entries of all tenants together */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /**
   * Stores a value; it replaces an earlier one of that key.
   *
   * @param tenant whose share it uses
   * @param key unique among all tenants
   */
  set(tenant: string, key: string, value: V): void {
    this.#remove(key);
    if (this.#entries.size >= this.#max) this.#evictFor(tenant);
    this.#entries.set(key, { tenant, value });
    const keys = this.#keys.get(tenant) ?? new Set();
    this.#keys.set(tenant, keys.add(key));
    this.#resize(tenant, keys.size - 1, keys.size);
  }

  clear(): void {
    this.#entries.clear();
    this.#keys.clear();
    this.#tenants.clear();
    this.#most = 0;
  }

  /** Of several tenants with the most entries, the one that adds another evicts its own. */
  #evictFor(tenant: string): void {
    const largest = this.#tenants.get(this.#most) ?? new Set();
    const [first = tenant] = largest;
    const [oldest] = this.#keys.get(largest.has(tenant) ? tenant : first) ?? [];
    if (oldest !== undefined) this.#remove(oldest);
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const keys = this.#keys.get(entry.tenant);
    if (keys?.delete(key) !== true) return;
    if (keys.size === 0) this.#keys.delete(entry.tenant);
    this.#resize(entry.tenant, keys.size + 1, keys.size);
  }

  #resize(tenant: string, before: number, now: number): void {
    const others = this.#tenants.get(before);
    others?.delete(tenant);
    if (others?.size === 0) this.#tenants.delete(before);
    if (now > 0) this.#tenants.set(now, (this.#tenants.get(now) ?? new Set()).add(tenant));
    // Sizes change by one, so the next largest has one entry less.
    if (now > this.#most || (before === this.#most && !this.#tenants.has(before))) this.#most = now;
  }
}
