/** A scripted main with 50 busy tunnels, one of them with a log of 10,000 requests, and large bodies to look at. */
import type { DetailView } from '../../../desktop/app/ipc/ipc.ts';
import type { TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import { LOG_REQUESTS_MAX, RECENT_REQUESTS } from '../../../desktop/app/main/limits.ts';
import type { TrafficSecond, RequestSummary } from '../../../desktop/client/inspector/records.ts';
import {
  exampleDetail,
  exampleRequest,
  exampleSnapshot,
  exampleTunnel,
} from '../../../desktop/testing/views.ts';
import { ScriptedLog, ScriptedMain } from '../../ui/support/scripted-main.ts';

export const TUNNELS = 50;
const METHODS = ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'] as const;
const PULSE_SECONDS = 60;
/** The last digit of the requests whose responses have a body of 1 MiB. */
export const LARGE_DIGIT = 1;

export class World {
  readonly main: ScriptedMain;
  readonly #log = new ScriptedLog();
  #tunnels: readonly TunnelView[];

  constructor() {
    this.#log.add(LOG_REQUESTS_MAX, (id) => ordinary(id, Date.now() - 1000 * (LOG_REQUESTS_MAX - id)));
    this.#tunnels = Array.from({ length: TUNNELS }, (_, n) =>
      exampleTunnel({
        key: `k${n}`,
        slug: `service-${n}`,
        url: `https://service-${n}.tunnels.example.com`,
        localPort: 3000 + n,
        expiresAt: Date.now() + (n + 30) * 60_000,
        recent: this.#log.recent,
        log: this.#log.point,
        requests: LOG_REQUESTS_MAX,
      }),
    );
    this.main = new ScriptedMain(exampleSnapshot({ tunnels: this.#tunnels }), {
      'log:changes': ({ since }) => this.#log.update(since),
      'log:detail': ({ id }) => detailOf(id),
    });
  }

  /** Adds this many requests to each tunnel and notifies the page. */
  async serve(count: number): Promise<void> {
    const now = Date.now();
    this.#log.add(count, (id) => ordinary(id, now));
    this.#tunnels = this.#tunnels.map((tunnel, n) => this.#after(tunnel, count, n === 0, now));
    await this.main.show({ tunnels: this.#tunnels });
  }

  /** Disconnects every tunnel and notifies the page. */
  async lose(): Promise<void> {
    const retryAt = Date.now() + 5000;
    const status = { name: 'reconnecting', retryAt, why: 'The relay does not answer.' } as const;
    await this.main.show({ tunnels: this.#tunnels.map((tunnel) => ({ ...tunnel, status })) });
  }

  /** Puts every tunnel online again and notifies the page. */
  async find(): Promise<void> {
    await this.main.show({ tunnels: this.#tunnels });
  }

  #after(tunnel: TunnelView, count: number, hasLog: boolean, now: number): TunnelView {
    const requests = tunnel.requests + count;
    const own = exampleRequest({ ...ordinary(requests, now), id: requests });
    return {
      ...tunnel,
      requests,
      bytesIn: tunnel.bytesIn + count * own.bytesIn,
      bytesOut: tunnel.bytesOut + count * own.bytesOut,
      recent: hasLog ? this.#log.recent : [own, ...tunnel.recent].slice(0, RECENT_REQUESTS),
      log: hasLog ? this.#log.point : { epoch: 0, revision: requests },
      pulse: pulseAfter(tunnel.pulse, Math.floor(now / 1000), count),
    };
  }
}

function ordinary(id: number, startedAt: number): Partial<RequestSummary> {
  return {
    startedAt,
    method: METHODS[id % METHODS.length] ?? 'GET',
    target: `/api/orders/${id}?page=${id % 17}&sort=date`,
    status: id % 9 === 0 ? 500 : 200,
    durationMs: (id * 37) % 1500,
  };
}

function pulseAfter(pulse: readonly TrafficSecond[], id: number, count: number): readonly TrafficSecond[] {
  const last = pulse.at(-1);
  const before = last?.id === id ? pulse.slice(0, -1) : pulse.slice(1 - PULSE_SECONDS);
  const requests = (last?.id === id ? last.requests : 0) + count;
  return [...before, { id, requests, refused: 0, errors: 0 }];
}

function detailOf(id: number): DetailView {
  const response = {
    startLine: 'HTTP/1.1 200 OK',
    fields: [['content-type', 'application/json']] as const,
    body: new TextEncoder().encode(id % 10 === LARGE_DIGIT ? orders(1024 * 1024) : '{"ok":true}'),
    isTruncated: false,
  };
  const answered = exampleRequest({ id, ...ordinary(id, Date.now()) });
  return { ...exampleDetail({ response }), ...answered };
}

/** JSON of about this many bytes. */
function orders(size: number): string {
  const found: unknown[] = [];
  for (let length = 0; length < size;) {
    const n = found.length;
    const order = {
      id: n,
      customer: { name: `Customer ${n}`, mail: `customer-${n}@example.com`, isNew: n % 3 === 0 },
      lines: [
        { sku: `heron-${n}`, count: n % 5, price: 13.9 },
        { sku: `otter-${n}`, count: 1, price: 4.5 },
      ],
      note: 'Ring twice. Leave it with the neighbours if nobody opens.',
    };
    length += JSON.stringify(order).length + 1;
    found.push(order);
  }
  return JSON.stringify({ orders: found, next: null });
}
