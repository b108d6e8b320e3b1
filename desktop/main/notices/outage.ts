import { t } from '../../i18n/translate.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import { LOST_NOTICE_MS } from '../limits.ts';
import type { Notice } from './notice.ts';

type Watched = Pick<TunnelView, 'key' | 'slug' | 'status'>;

/**
 * Connections that are lost, which is one event however many tunnels it concerns: they all lead to one relay. It begins with
 * a notice and ends with another that replaces it.
 */
export class Outage {
  /** since when a tunnel has been without a connection, by its key; wall-clock ms */
  readonly #lostSince = new Map<string, number>();
  /** keys of those that the user knows of */
  readonly #known = new Set<string>();
  /** whether the user was told by a notice, and so is told of the end */
  #wasTold = false;

  /**
   * @param now wall-clock ms
   * @param isSeen whether the user has the window in front of them, which says all of it
   * @returns the notice to give now, if there is one
   */
  look(tunnels: readonly Watched[], now: number, isSeen: boolean): Notice[] {
    this.#follow(tunnels, now);
    const isOverdue = [...this.#lostSince].some(
      ([key, since]) => now - since >= LOST_NOTICE_MS && !this.#known.has(key),
    );
    if (isOverdue) return this.#begin(tunnels, isSeen);
    const isOver = this.#known.size > 0 && ![...this.#known].some((key) => this.#lostSince.has(key));
    return isOver ? this.#end(tunnels, isSeen) : [];
  }

  /** During sleep, no connection counts as lost. */
  slept(now: number): void {
    for (const key of this.#lostSince.keys()) this.#lostSince.set(key, now);
  }

  #follow(tunnels: readonly Watched[], now: number): void {
    const statuses = new Map(tunnels.map(({ key, status }) => [key, status.name]));
    for (const key of [...this.#lostSince.keys(), ...this.#known]) {
      const status = statuses.get(key);
      if (status === 'online' || status === 'ended' || status === undefined) this.#lostSince.delete(key);
    }
    for (const { key, status } of tunnels)
      if (status.name === 'reconnecting' && !this.#lostSince.has(key)) this.#lostSince.set(key, now);
  }

  #begin(tunnels: readonly Watched[], isSeen: boolean): Notice[] {
    for (const key of this.#lostSince.keys()) this.#known.add(key);
    if (isSeen) return [];
    this.#wasTold = true;
    const lost = tunnels.filter(({ key }) => this.#lostSince.has(key));
    const [first] = lost;
    if (first === undefined) return [];
    const why = lost.map(({ status }) => (status.name === 'reconnecting' ? status.why : '')).find(Boolean);
    return [
      {
        kind: 'lost',
        key: undefined,
        title: t('notice.lost', { count: lost.length, slug: first.slug }),
        text: t('problem.keepsTrying', { why: why ?? t('problem.noConnection') }),
      },
    ];
  }

  #end(tunnels: readonly Watched[], isSeen: boolean): Notice[] {
    const back = tunnels.filter(({ key, status }) => this.#known.has(key) && status.name === 'online');
    const isAll = back.length === this.#known.size;
    const isSaid = this.#wasTold && !isSeen;
    this.#known.clear();
    this.#wasTold = false;
    const [first] = back;
    if (!isSaid || first === undefined) return [];
    return [
      {
        kind: 'back',
        key: undefined,
        title:
          isAll && back.length > 1
            ? t('notice.allBack', { count: back.length })
            : t('notice.back', { count: back.length, slug: first.slug }),
        text: t('notice.back.text', { count: back.length }),
      },
    ];
  }
}
